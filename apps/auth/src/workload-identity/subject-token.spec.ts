import { decodeSubjectToken } from './subject-token';

const part = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
const token = (header: unknown, claims: unknown = { sub: 'a' }): string => `${part(header)}.${part(claims)}.c2ln`;

describe(decodeSubjectToken.name, () => {
  it.each([
    [{ alg: 'ES256', kid: 'k', typ: 'JWT' }, 'ES256', 'k'],
    [{ alg: 'RS256', x5t: 'thumbprint' }, 'RS256', null],
  ])('reads %j', (header, algorithm, keyId) => {
    expect(decodeSubjectToken(token(header))).toEqual({ algorithm, keyId, claims: { sub: 'a' } });
  });

  it.each([
    ['O21 a header that is no JSON', token('{')],
    ['O21 a header that is a list', token([])],
    ['O21 claims that are a number', token({ alg: 'ES256' }, 1)],
    ['O22 no signature', token({ alg: 'none' })],
    ['O22 no signature in other letters', token({ alg: 'nOnE' })],
    ['O22 a shared secret', token({ alg: 'HS256' })],
    ['O22 a longer hash', token({ alg: 'RS384' })],
    ['O22 another padding', token({ alg: 'PS256' })],
    ['O22 another curve', token({ alg: 'EdDSA' })],
    ['O22 alg a list', token({ alg: ['ES256'] })],
    ['O26 a kid that is a number', token({ alg: 'ES256', kid: 1 })],
    ['O26 a kid that is a list', token({ alg: 'ES256', kid: ['k'] })],
    ['O26 a kid of 10 kB', token({ alg: 'ES256', kid: 'k'.repeat(10_000) })],
    ['O28 jku', token({ alg: 'ES256', jku: 'https://evil.example' })],
    ['O28 x5u', token({ alg: 'ES256', x5u: 'https://evil.example' })],
    ['O28 jwk', token({ alg: 'ES256', jwk: {} })],
    ['O28 x5c', token({ alg: 'ES256', x5c: [] })],
    ['O29 crit', token({ alg: 'ES256', crit: [] })],
    ['O29 b64', token({ alg: 'ES256', b64: false })],
    ['O29 zip', token({ alg: 'ES256', zip: 'DEF' })],
    ['O29 a token within', token({ alg: 'ES256', cty: 'JWT' })],
    ['O43 a claim twice', token({ alg: 'ES256' }, '{"iss":"a","iss":"b"}')],
    ['O15 two segments', 'e30.e30'],
    ['O15 padding', `${token({ alg: 'ES256' })}=`],
    ['O15 an empty segment', 'e30..e30'],
  ])('has nothing of %s', (_what, text) => {
    expect(decodeSubjectToken(text)).toBeNull();
  });
});
