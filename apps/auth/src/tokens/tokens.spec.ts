import { generateKeyPairSync } from 'node:crypto';
import { EXCHANGE_PURPOSE, Secret } from '@libs/contracts';
import { seal, SealingKeyPair } from '@libs/platform';
import { importJWK, jwtVerify } from 'jose';
import { readAuthEnv } from '../auth.env';
import { signAccessToken } from './access-tokens';
import { sealAnswer, SealingKeys } from './sealing-keys';
import { parseSigningKeys } from './signing-keys';

function privateJwk(kid?: string): object {
  const jwk = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });
  return { ...jwk, ...(kid !== undefined && { kid }) };
}

const NOW_MS = 1_800_000_000_700;

describe(parseSigningKeys.name, () => {
  it('publishes every key and nothing private', () => {
    const keys = parseSigningKeys(JSON.stringify([privateJwk('new'), privateJwk()]));
    expect(keys.map(({ publicJwk }) => Object.keys(publicJwk).toSorted((one, two) => one.localeCompare(two)))).toEqual(
      [0, 1].map(() => ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']),
    );
    expect(keys.map(({ keyId }) => keyId)).toEqual(['new', expect.stringMatching(/^[\w-]{43}$/)]);
  });

  it.each([
    ['no JSON', 'secret'],
    ['no list', '{"secret":1}'],
    ['no keys', '[]'],
    ['no key', '["secret"]'],
    ['null', '[null]'],
    ['a public key', JSON.stringify([{ ...privateJwk(), d: undefined }])],
    ['another curve', JSON.stringify([{ ...privateJwk(), crv: 'P-384' }])],
    ['numbers of no key', JSON.stringify([{ ...privateJwk(), x: 'AAAA' }])],
    ['one name for two keys', JSON.stringify([privateJwk('a'), privateJwk('a')])],
  ])('stops the boot for %s, and shows nothing of it', (_what, text) => {
    expect(() => parseSigningKeys(text)).toThrow(/^the |^a key |^two keys /);
    const boot = (): unknown => readAuthEnv({ TOKEN_SIGNING_KEYS: text });
    expect(boot).toThrow('TOKEN_SIGNING_KEYS');
    expect(boot).not.toThrow('secret');
  });
});

describe(signAccessToken.name, () => {
  const [key] = parseSigningKeys(JSON.stringify([privateJwk('k')]));
  const facts = {
    issuer: 'https://sluice.example',
    subject: 'workload',
    policyId: 'policy',
    issuerId: 'issuer',
    apiKeyHash: 'a'.repeat(64),
    subjectExpiresAtSeconds: 1_900_000_000,
  };

  it('signs what the token stands for', async () => {
    const { token, expiresInSeconds } = await signAccessToken(key!, facts, NOW_MS);
    const { payload, protectedHeader } = await jwtVerify(token, await importJWK({ ...key!.publicJwk }), {
      currentDate: new Date(NOW_MS),
    });
    expect(protectedHeader).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: 'k' });
    expect(payload).toEqual({
      iss: facts.issuer,
      aud: facts.issuer,
      sub: 'workload',
      iat: 1_800_000_000,
      exp: 1_800_000_900,
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
      client_id: 'policy',
      scope: 'inference',
      federation_policy_id: 'policy',
      federation_issuer_id: 'issuer',
      api_key_hash: facts.apiKeyHash,
    });
    expect(expiresInSeconds).toBe(900);
  });

  it.each([
    [1_800_000_100, 99],
    [1_800_000_002, 1],
    [1_800_000_900.7, 900],
  ])('ends no later than a subject token that ends at %p', async (subjectExpiresAtSeconds, expected) => {
    const { token, expiresInSeconds } = await signAccessToken(key!, { ...facts, subjectExpiresAtSeconds }, NOW_MS);
    expect(expiresInSeconds).toBe(expected);
    const { exp } = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as { exp: number };
    expect(exp).toBeLessThanOrEqual(subjectExpiresAtSeconds);
  });
});

describe(SealingKeys.name, () => {
  const [first, second] = [privateJwk('first'), privateJwk('second')];
  const keysOf = (...jwks: object[]): SealingKeys => new SealingKeys(parseSigningKeys(JSON.stringify(jwks)));
  const answers = SealingKeyPair.generate();
  const exchange = { subjectToken: 'a.b.c', replyKey: answers.publicKey };

  function sealTo(keys: SealingKeys): Promise<string> {
    const { x, kid } = keys.current!;
    return seal(new Secret(JSON.stringify(exchange)), { publicKey: x, keyId: kid }, EXCHANGE_PURPOSE);
  }

  it('are the same in every process with the same signing keys, and those of before still open', async () => {
    const sealed = await sealTo(keysOf(first));
    expect(await keysOf(second, first).open(sealed)).toEqual(exchange);
    expect(keysOf(second, first).current!.kid).toBe('second');
    expect(sealed).not.toContain(Buffer.from('a.b.c').toString('base64url'));
  });

  it('do not open what was sealed to others', async () => {
    const sealed = await sealTo(keysOf(first));
    await expect(keysOf(second).open(sealed)).rejects.toMatchObject({ code: 'precondition_failed' });
    await expect(keysOf({ ...second, kid: 'first' }).open(sealed)).rejects.toMatchObject({
      code: 'precondition_failed',
    });
    expect(keysOf(first).current!.x).not.toBe(keysOf(second).current!.x);
  });

  it('answer under the key that came with the question', async () => {
    const sealed = await sealAnswer('token', exchange.replyKey);
    expect((await answers.open(sealed, EXCHANGE_PURPOSE)).reveal()).toBe('token');
    await expect(sealAnswer('token', 'short')).rejects.toMatchObject({ code: 'invalid_request' });
  });
});
