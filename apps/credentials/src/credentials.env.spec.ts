import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { EnvError } from '@libs/platform';
import { CredentialsEnv, readCredentialsEnv } from './credentials.env';

const key = (): string => randomBytes(32).toString('base64');

function problemOf(CREDENTIALS_KEYRING: string | undefined): string {
  try {
    readCredentialsEnv({ CREDENTIALS_KEYRING });
  } catch (error) {
    if (error instanceof EnvError) return error.message;
    throw error;
  }
  throw new Error('the environment was accepted');
}

describe(CredentialsEnv.name, () => {
  it('has a health port of its own and shows its keys to nobody', () => {
    const ring = `2026-11:${key()}, 2026-05:${key()}`;
    const env = readCredentialsEnv({ CREDENTIALS_KEYRING: ring });
    expect(env.HEALTH_PORT).toBe(8084);
    expect(env.CREDENTIALS_KEYRING.reveal()).toBe(ring);
    expect(inspect(env) + JSON.stringify(env)).not.toContain(ring.slice(8, 20));
  });

  const same = key();

  it.each([
    ['nothing', undefined, 'it is not set'],
    ['a key without an id', key(), 'an id is not'],
    ['an id with a blank', `a b:${key()}`, 'an id is not'],
    ['a short key', `a:${randomBytes(16).toString('base64')}`, 'not 32 bytes'],
    ['a long key', `a:${randomBytes(33).toString('base64')}`, 'not 32 bytes'],
    ['no key', 'a:', 'not 32 bytes'],
    ['a key in hex', `a:${randomBytes(32).toString('hex')}`, 'not 32 bytes'],
    ['a key with bits to spare', `a:${same.slice(0, -2)}${same.at(-2) === 'B' ? 'C' : 'B'}=`, 'not 32 bytes'],
    ['an id twice', `a:${key()},a:${key()}`, 'the same id'],
    ['a key twice', `a:${same},b:${same}`, 'the same key'],
    ['an empty entry', `a:${key()},`, 'an id is not'],
    ['too many keys', Array.from({ length: 17 }, (_, index) => `k${index}:${key()}`).join(','), 'more than 16'],
    ['a managed key without its account', 'aws-kms://alias/canary', 'a key management service is not'],
    ['an unknown key management service', 'azure-kv://canary/canary', 'a key management service is not'],
    ['a managed key twice', 'vault-transit://one,vault-transit://one', 'the same id'],
  ])('refuses %s and shows none of it', (_what, ring, problem) => {
    const message = problemOf(ring);
    expect(message).toContain('CREDENTIALS_KEYRING');
    expect(message).toContain(problem);
    for (const secret of (ring ?? '').match(/[\w+/=]{20,}|canary/g) ?? []) expect(message).not.toContain(secret);
  });
});
