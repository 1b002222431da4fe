import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { SignJWT, UnsecuredJWT } from 'jose';
import { GetTokenKeys, type SigningJwk } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { FakeMessageBus } from '@libs/platform/testing';
import { AccessTokens, isTokenShaped } from './access-tokens';
import { TokenKeyDirectory } from './token-keys';

const ISSUER = 'https://sluice.example';
const KEY_HASH = 'ab'.repeat(32);
const NOW_MS = 1_800_000_000_000;
const NOW = NOW_MS / 1_000;

const CLAIMS = { iss: ISSUER, aud: ISSUER, sub: 'workload', exp: NOW + 900, api_key_hash: KEY_HASH };
const HEADER = { alg: 'ES256', typ: 'at+jwt', kid: 'first' };

interface Signer {
  readonly privateKey: KeyObject;
  readonly jwk: SigningJwk;
}

function newSigner(kid: string): Signer {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  return { privateKey, jwk: { kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig', kid, x, y } };
}

const [first, second] = [newSigner('first'), newSigner('second')];

const sign = (claims: object = {}, header: object = {}, signer = first): Promise<string> =>
  new SignJWT({ ...CLAIMS, ...claims }).setProtectedHeader({ ...HEADER, ...header }).sign(signer.privateKey);

describe(AccessTokens.name, () => {
  let bus: FakeMessageBus;
  let published: SigningJwk[];
  let wallNowMs: number;
  let monotonicNowMs: number;
  let tokens: AccessTokens;

  beforeEach(() => {
    published = [first.jwk];
    [wallNowMs, monotonicNowMs] = [NOW_MS, 0];
    bus = new FakeMessageBus().answers(GetTokenKeys, () => ({ signingKeys: published, sealingKey: null }));
    const keys = new TokenKeyDirectory(bus, { monotonicNowMs: () => monotonicNowMs });
    tokens = new AccessTokens(keys, ISSUER, () => wallNowMs);
  });

  it('know the key that a token acts as, and ask for the signing keys once', async () => {
    for (const token of [await sign(), await sign(), await sign({ sub: 'other' })]) {
      expect(await tokens.keyHashOf(token)).toBe(KEY_HASH);
    }
    expect(bus.calls).toHaveLength(1);
  });

  it('end a token at the second it says, also when it was verified before', async () => {
    const token = await sign();
    wallNowMs = NOW_MS + 899_999;
    expect(await tokens.keyHashOf(token)).toBe(KEY_HASH);
    wallNowMs = NOW_MS + 900_000;
    expect(await tokens.keyHashOf(token)).toBeNull();
    expect(await tokens.keyHashOf(await sign({ iat: NOW }))).toBeNull();
  });

  it.each<[string, object, object?, Signer?]>([
    ['another issuer', { iss: 'https://other.example' }],
    ['another audience', { aud: 'https://other.example' }],
    ['no audience', { aud: undefined }],
    ['no end', { exp: undefined }],
    ['no subject', { sub: undefined }],
    ['no key', { api_key_hash: undefined }],
    ['something else than the hash of a key', { api_key_hash: '../keys' }],
    ['the type of an ID token', {}, { typ: 'JWT' }],
    ['no type', {}, { typ: undefined }],
    ['a key that nobody published', {}, { kid: 'third' }],
    ['no name of a key', {}, { kid: undefined }],
    ['the name of another key', {}, {}, second],
  ])('refuse one with %s', async (_what, claims, header = {}, signer = first) => {
    expect(await tokens.keyHashOf(await sign(claims, header, signer))).toBeNull();
  });

  it('refuse one without a signature, with a shared secret, or with its claims changed', async () => {
    const secret = new TextEncoder().encode(JSON.stringify(first.jwk));
    const shared = await new SignJWT(CLAIMS).setProtectedHeader({ ...HEADER, alg: 'HS256' }).sign(secret);
    const [head = '', claims = '', signature = ''] = (await sign()).split('.');
    const changed = Buffer.from(JSON.stringify({ ...CLAIMS, sub: 'admin' })).toString('base64url');
    const forged = [
      `${new UnsecuredJWT(CLAIMS).encode()}AA`,
      shared,
      `${head}.${changed}.${signature}`,
      `${head}.${claims}.${'A'.repeat(86)}`,
    ];
    expect(await Promise.all(forged.map((token) => tokens.keyHashOf(token)))).toEqual(forged.map(() => null));
  });

  it('take a new signing key when they see it, looking for unknown ones once in five seconds', async () => {
    await tokens.keyHashOf(await sign());
    const token = await sign({}, { kid: 'second' }, second);
    monotonicNowMs = 5_000;
    for (let index = 0; index < 50; index += 1) await tokens.keyHashOf(await sign({}, { kid: `invented ${index}` }));
    expect(bus.calls).toHaveLength(2);
    published = [second.jwk, first.jwk];
    expect(await tokens.keyHashOf(token)).toBeNull();
    monotonicNowMs = 10_000;
    expect(await tokens.keyHashOf(token)).toBe(KEY_HASH);
  });

  it('forget a signing key within five minutes of its removal', async () => {
    await tokens.keyHashOf(await sign());
    published = [second.jwk];
    monotonicNowMs = 300_000;
    expect(await tokens.keyHashOf(await sign({ sub: 'late' }))).toBeNull();
  });

  it('go on with what they know while the auth app is away, and fail when that is nothing', async () => {
    const away = new AppError('timeout', 'away');
    bus.failure = away;
    await expect(tokens.keyHashOf(await sign())).rejects.toBe(away);
    bus.failure = undefined;
    await tokens.keyHashOf(await sign());
    bus.failure = away;
    monotonicNowMs = 300_000;
    expect(await tokens.keyHashOf(await sign({ sub: 'meanwhile' }))).toBe(KEY_HASH);
  });
});

describe(isTokenShaped.name, () => {
  it.each([
    ['a.b.c', true],
    ['a.b', false],
    ['a.b.c.d.e', false],
    ['a.b.c=', false],
    ['a..c', false],
    [`sk-sluice-v1-${'a'.repeat(49)}`, false],
  ])('%p: %p', (text, expected) => {
    expect(isTokenShaped(text)).toBe(expected);
  });
});
