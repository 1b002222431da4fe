import { hashApiKey, mintApiKey, VerifyKey } from '@libs/contracts';
import type { AppError } from '@libs/errors';
import { KeyDirectory } from '@libs/platform';
import { FakeMessageBus } from '@libs/platform/testing';
import { readGatewayEnv } from '../gateway.env';
import { FailedAuthentications } from '../auth/failed-authentications';
import { ExchangeCaller } from './exchange-caller';

const key = mintApiKey('sluice', 'api');
const unknownKey = mintApiKey('sluice', 'api');

function caller(settings: NodeJS.ProcessEnv = {}, failures = new FailedAuthentications(0)): ExchangeCaller {
  const principal = { keyHash: hashApiKey(key), organizationId: 'organization', expiresAt: null };
  const bus = new FakeMessageBus().answers(VerifyKey, ({ keyHash }) => ({
    principal: keyHash === hashApiKey(key) ? (principal as never) : null,
  }));
  return new ExchangeCaller(new KeyDirectory(bus), failures, readGatewayEnv(settings));
}

const ADDRESS = '192.0.2.1';
const withBearer = (bearer: string): string[] => ['Host', 'a', 'Authorization', `Bearer ${bearer}`];

describe(ExchangeCaller.name, () => {
  it('knows the organization of a key', async () => {
    expect(await caller().organizationOf(withBearer(key), ADDRESS)).toBe('organization');
  });

  it.each([
    ['an unknown key', withBearer(unknownKey)],
    ['something that is no key', withBearer('a.b.c')],
    ['two keys', [...withBearer(key), ...withBearer(key)]],
    ['another scheme', ['authorization', `Basic ${key}`]],
    ['nothing after the scheme', ['authorization', 'Bearer ']],
  ])('refuses %s, whether or not a key is needed', async (_what, rawHeaders) => {
    for (const settings of [{}, { TOKEN_EXCHANGE_REQUIRE_BEARER: 'false' }]) {
      await expect(caller(settings).organizationOf(rawHeaders, ADDRESS)).rejects.toMatchObject({
        code: 'authentication',
      });
    }
  });

  it('does without a key where none is needed, and nowhere else', async () => {
    expect(await caller({ TOKEN_EXCHANGE_REQUIRE_BEARER: 'false' }).organizationOf(['Host', 'a'], ADDRESS)).toBeNull();
    await expect(caller().organizationOf(['Host', 'Authorization'], ADDRESS)).rejects.toMatchObject({
      code: 'authentication',
    });
  });

  it('looks up only so many unknown keys of one address, and a key that was good before at any time', async () => {
    const exchanges = caller({}, new FailedAuthentications(5));
    await exchanges.organizationOf(withBearer(key), ADDRESS);
    const codes: string[] = [];
    for (let n = 0; n < 20; n += 1) {
      const asked = exchanges.organizationOf(withBearer(mintApiKey('sluice', 'api')), ADDRESS);
      codes.push(
        await asked.then(
          () => 'found',
          (error: AppError) => error.code,
        ),
      );
    }
    expect(codes.filter((code) => code === 'authentication').length).toBeLessThan(7);
    expect(codes.at(-1)).toBe('rate_limit_exceeded');
    expect(await exchanges.organizationOf(withBearer(key), ADDRESS)).toBe('organization');
  });
});
