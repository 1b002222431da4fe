import { generateKeyPairSync, type JsonWebKey } from 'node:crypto';
import { chooseKey, readKeySet } from './key-set';

const ec = (curve = 'P-256'): JsonWebKey =>
  generateKeyPairSync('ec', { namedCurve: curve }).publicKey.export({ format: 'jwk' });
const rsa = (modulusLength: number): JsonWebKey =>
  generateKeyPairSync('rsa', { modulusLength }).publicKey.export({ format: 'jwk' });

const [first, second, large] = [ec(), ec(), rsa(2_048)];
const ids = (document: unknown): unknown =>
  readKeySet(document)?.map(({ keyId, algorithm }) => `${keyId} ${algorithm}`);

describe(readKeySet.name, () => {
  it('takes the keys that verify our algorithms', () => {
    const keys = [
      { ...first, kid: 'a' },
      { ...large, kid: 'b', use: 'sig', alg: 'RS256', key_ops: ['verify'] },
    ];
    expect(ids({ keys, more: 1 })).toEqual(['a ES256', 'b RS256']);
  });

  it('passes over keys for something else, of another kind, weak, large or no secret any more', () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const keys = [
      { ...first, kid: 'good' },
      { ...first, kid: 'k'.repeat(257) },
      { ...first, use: 'enc' },
      { ...first, key_ops: ['sign'] },
      { ...first, key_ops: 'verify' },
      { ...first, alg: 'ES384' },
      { ...large, alg: 'PS256' },
      privateKey.export({ format: 'jwk' }),
      ec('P-384'),
      rsa(1_024),
      rsa(4_104),
      { ...large, e: Buffer.from('010000000f', 'hex').toString('base64url') },
      { kty: 'oct', k: 'c2VjcmV0' },
      { ...first, x: second.x },
      null,
      'key',
    ];
    expect(ids({ keys })).toEqual(['good ES256']);
  });

  it.each([null, [], 'x', {}, { keys: null }, { keys: [] }, { keys: [{}] }])('has no use for %j', (document) => {
    expect(readKeySet(document)).toBeNull();
  });

  it('has no use for more than fifty keys', () => {
    expect(readKeySet({ keys: Array.from({ length: 51 }, () => first) })).toBeNull();
    expect(readKeySet({ keys: Array.from({ length: 50 }, () => first) })).toHaveLength(50);
  });
});

describe(chooseKey.name, () => {
  const named = readKeySet({
    keys: [
      { ...first, kid: 'a' },
      { ...second, kid: 'b' },
      { ...large, kid: 'a' },
    ],
  })!;

  it('takes the key of the name and the algorithm', () => {
    expect(chooseKey(named, { keyId: 'a', algorithm: 'ES256' })).toBe(named[0]!.key);
    expect(chooseKey(named, { keyId: 'a', algorithm: 'RS256' })).toBe(named[2]!.key);
    expect(chooseKey(named, { keyId: 'b', algorithm: 'RS256' })).toBeNull();
    expect(chooseKey(named, { keyId: 'c', algorithm: 'ES256' })).toBeNull();
  });

  it('takes the only key of the algorithm for a token that names none', () => {
    expect(chooseKey(named, { keyId: null, algorithm: 'RS256' })).toBe(named[2]!.key);
    expect(chooseKey(named, { keyId: null, algorithm: 'ES256' })).toBeNull();
  });

  it('takes neither of two keys of the same name', () => {
    const doubled = readKeySet({
      keys: [
        { ...first, kid: 'a' },
        { ...second, kid: 'a' },
      ],
    })!;
    expect(chooseKey(doubled, { keyId: 'a', algorithm: 'ES256' })).toBeNull();
  });
});
