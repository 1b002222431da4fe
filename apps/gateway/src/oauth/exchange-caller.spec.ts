import { hashApiKey, mintApiKey, VerifyKey } from '@libs/contracts';
import { KeyDirectory } from '@libs/platform';
import { FakeMessageBus } from '@libs/platform/testing';
import { readGatewayEnv } from '../gateway.env';
import { ExchangeCaller } from './exchange-caller';

const key = mintApiKey('sluice', 'api');
const unknownKey = mintApiKey('sluice', 'api');

function caller(settings: NodeJS.ProcessEnv = {}): ExchangeCaller {
  const principal = { keyHash: hashApiKey(key), organizationId: 'organization', expiresAt: null };
  const bus = new FakeMessageBus().answers(VerifyKey, ({ keyHash }) => ({
    principal: keyHash === hashApiKey(key) ? (principal as never) : null,
  }));
  return new ExchangeCaller(new KeyDirectory(bus), readGatewayEnv(settings));
}

const withBearer = (bearer: string): string[] => ['Host', 'a', 'Authorization', `Bearer ${bearer}`];

describe(ExchangeCaller.name, () => {
  it('knows the organization of a key', async () => {
    expect(await caller().organizationOf(withBearer(key))).toBe('organization');
  });

  it.each([
    ['an unknown key', withBearer(unknownKey)],
    ['something that is no key', withBearer('a.b.c')],
    ['two keys', [...withBearer(key), ...withBearer(key)]],
    ['another scheme', ['authorization', `Basic ${key}`]],
    ['nothing after the scheme', ['authorization', 'Bearer ']],
  ])('refuses %s, whether or not a key is needed', async (_what, rawHeaders) => {
    for (const settings of [{}, { TOKEN_EXCHANGE_REQUIRE_BEARER: 'false' }]) {
      await expect(caller(settings).organizationOf(rawHeaders)).rejects.toMatchObject({ code: 'authentication' });
    }
  });

  it('does without a key where none is needed, and nowhere else', async () => {
    expect(await caller({ TOKEN_EXCHANGE_REQUIRE_BEARER: 'false' }).organizationOf(['Host', 'a'])).toBeNull();
    await expect(caller().organizationOf(['Host', 'Authorization'])).rejects.toMatchObject({ code: 'authentication' });
  });
});
