import { describeAppProcess } from '@libs/platform/testing';
import { CredentialsEnv, readCredentialsEnv } from './credentials.env';

describeAppProcess('credentials');

describe(CredentialsEnv.name, () => {
  it('has a health port of its own', () => {
    expect(readCredentialsEnv({}).HEALTH_PORT).toBe(8084);
  });
});
