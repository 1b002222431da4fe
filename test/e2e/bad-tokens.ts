import { createHmac, createPublicKey, generateKeyPairSync, randomUUID, sign, type KeyObject } from 'node:crypto';
import { newIssuerKey, type IdentityIssuer, type IssuerKey } from '../support/identity-issuer';

type Part = object | string | Buffer;

const bytesOf = (part: Part): Buffer =>
  Buffer.isBuffer(part) ? part : Buffer.from(typeof part === 'string' ? part : JSON.stringify(part));
const encode = (part: Part): string => bytesOf(part).toString('base64url');
const now = (): number => Math.floor(Date.now() / 1_000);

/** Keys that an issuer publishes and that verify nothing, each for a reason of its own. */
export function unfitKeys(): IssuerKey[] {
  const published = newIssuerKey('published');
  const unfit = (key: IssuerKey, members: object): IssuerKey => ({ ...key, jwk: { ...key.jwk, ...members } });
  return [
    newIssuerKey('weak', 'RS256', 1_024),
    unfit(newIssuerKey('for encryption'), { use: 'enc' }),
    unfit(newIssuerKey('for signing'), { use: undefined, key_ops: ['sign'] }),
    unfit(newIssuerKey('of another algorithm'), { alg: 'ES384' }),
    unfit(published, published.privateKey.export({ format: 'jwk' })),
    newIssuerKey('twice', 'RS256'),
    newIssuerKey('twice', 'RS256'),
  ];
}

/** Makes tokens that differ from a good one in one thing. */
export class TokenForge {
  constructor(
    readonly issuer: IdentityIssuer,
    /** What the policy admits: subject and audience. */
    private readonly good: object,
  ) {}

  get claims(): Readonly<Record<string, unknown>> {
    return { iss: this.issuer.url, iat: now(), exp: now() + 600, jti: randomUUID(), ...this.good };
  }

  get key(): IssuerKey {
    return this.issuer.keys[0]!;
  }

  keyCalled(kid: string): IssuerKey {
    return this.issuer.keys.find((key) => key.kid === kid)!;
  }

  /** A good token but for these claims; undefined takes one out. */
  with(claims: object, header: object = {}, key: IssuerKey = this.key): string {
    return this.raw({ alg: key.alg, kid: key.kid, ...header }, { ...this.claims, ...claims }, key.privateKey);
  }

  /** Any two parts, with a signature over them that is right. */
  raw(header: Part, claims: Part, key: KeyObject = this.key.privateKey): string {
    const input = `${encode(header)}.${encode(claims)}`;
    const signature = sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' });
    return `${input}.${signature.toString('base64url')}`;
  }

  /** A good token whose signature is another one. */
  signedBy(header: object, signature: (input: string) => Buffer): string {
    const input = `${encode({ alg: 'ES256', kid: this.key.kid, ...header })}.${encode(this.claims)}`;
    return `${input}.${signature(input).toString('base64url')}`;
  }

  /** The claims as text, with more of it in front. */
  textWith(members: string): string {
    return this.raw({ alg: 'ES256', kid: this.key.kid }, `{${members},${JSON.stringify(this.claims).slice(1)}`);
  }
}

type BadToken = readonly [string, (forge: TokenForge) => string];

const ofClaim = (name: string, values: Readonly<Record<string, unknown>>): BadToken[] =>
  Object.entries(values).map(([what, value]) => [`${name}: ${what}`, (forge) => forge.with({ [name]: value })]);

const ofHeader = (name: string, values: Readonly<Record<string, unknown>>): BadToken[] =>
  Object.entries(values).map(([what, value]) => [`${name}: ${what}`, (forge) => forge.with({}, { [name]: value })]);

const hmac =
  (key: string | Buffer) =>
  (input: string): Buffer =>
    createHmac('sha256', key).update(input).digest();

const publicPem = ({ key }: TokenForge): string =>
  createPublicKey(key.privateKey).export({ type: 'spki', format: 'pem' }).toString();

const HEADER = { alg: 'ES256', kid: 'es' };
const deep = (depth: number): string => `"deep":${'['.repeat(depth)}${']'.repeat(depth)}`;

/** Tokens that a policy with that subject and audience must not admit (RFC 7519, RFC 8725 §3). */
export const BAD_TOKENS: readonly BadToken[] = [
  ...['[]', '1', 'null', '"ES256"', '{', '', '{"alg":"ES256","kid":"es"}{}'].map((header): BadToken => [
    `a header that is ${header}`,
    (forge) => forge.raw(header || ' ', forge.claims),
  ]),
  ...['[]', '1', 'null', '"sub"', '{', '{}', '{}{}'].map((claims): BadToken => [
    `claims that are ${claims}`,
    (forge) => forge.raw(HEADER, claims),
  ]),
  ...ofHeader('alg', { none: 'none', 'mixed case': 'nOnE', missing: undefined, number: 1, 'of P-384': 'ES384' }),
  ...ofHeader('alg', { RS384: 'RS384', PS256: 'PS256', 'of Edwards curves': 'EdDSA', 'lower case': 'es256' }),
  ['no signature to speak of, and no algorithm', (forge) => forge.signedBy({ alg: 'none' }, () => Buffer.alloc(1))],
  ['HS256 with the public key', (forge) => forge.signedBy({ alg: 'HS256' }, hmac(publicPem(forge)))],
  ['HS256 with an empty key', (forge) => forge.signedBy({ alg: 'HS256' }, hmac(''))],
  ['ES256 that is an HMAC', (forge) => forge.signedBy({}, hmac(publicPem(forge)))],
  ['a signature of zeros', (forge) => forge.signedBy({}, () => Buffer.alloc(64))],
  ['a signature of ones', (forge) => forge.signedBy({}, () => Buffer.alloc(64, 255))],
  ['a short signature', (forge) => forge.with({}).slice(0, -4)],
  [
    'a signature in DER',
    (forge) => forge.signedBy({}, (input) => sign('sha256', Buffer.from(input), forge.key.privateKey)),
  ],
  ['the signature of another token', (forge) => forge.with({}).replace(/[^.]+$/, forge.with({}).split('.')[2]!)],
  ['a key of nobody under a known name', (forge) => forge.with({}, {}, newIssuerKey('es'))],
  ['an RSA key of nobody under a known name', (forge) => forge.with({}, {}, newIssuerKey('rs', 'RS256'))],
  ['a key of another kind under its name', (forge) => forge.with({}, { kid: 'rs' })],
  [
    'an RSA signature that calls itself ES256',
    (forge) => forge.with({}, { alg: 'ES256', kid: 'es' }, forge.keyCalled('rs')),
  ],
  ['a key of another issuer', (forge) => forge.with({}, {}, newIssuerKey('of another issuer'))],
  ...['weak', 'for encryption', 'for signing', 'of another algorithm', 'published', 'twice'].map((kid): BadToken => [
    `the key ${kid}`,
    (forge) => forge.with({}, {}, forge.keyCalled(kid)),
  ]),
  ...ofHeader('kid', { SQL: "es' OR '1'='1", 'a path': '../../dev/null', empty: '', long: 'k'.repeat(10_000) }),
  ...ofHeader('kid', { number: 1, list: ['es'], object: { es: 1 }, true: true, 'another case': 'ES' }),
  ...['jku', 'jwk', 'x5u', 'x5c', 'crit', 'b64', 'zip', 'cty', 'enc'].map((name): BadToken => [
    `the header member ${name}`,
    (forge) => forge.with({}, { [name]: name === 'b64' ? false : ['exp'] }),
  ]),
  ['a key within its header', (forge) => inlineKey(forge)],
  ...ofClaim('iss', { missing: undefined, other: 'https://other.example', list: [], number: 1, empty: '', null: null }),
  ['iss: a slash more', (forge) => forge.with({ iss: `${forge.issuer.url}/` })],
  ['iss: in upper case', (forge) => forge.with({ iss: forge.issuer.url.toUpperCase() })],
  ['iss: in a list', (forge) => forge.with({ iss: [forge.issuer.url] })],
  ...ofClaim('aud', { missing: undefined, other: 'other', prefix: 'sluic', 'upper case': 'SLUICE', blank: 'sluice ' }),
  ...ofClaim('aud', { 'no entry': [], nested: [['sluice']], number: 1, 'beside a number': ['sluice', 1], null: null }),
  ...ofClaim('sub', {
    missing: undefined,
    empty: '',
    long: 'w'.repeat(513),
    number: 1,
    other: 'other',
    list: ['workload'],
  }),
  ...ofClaim('sub', { 'upper case': 'WORKLOAD', null: null }),
  ...ofClaim('exp', {
    missing: undefined,
    text: String(now() + 600),
    null: null,
    huge: 1e18,
    negative: -1,
    true: true,
  }),
  ['exp: a second ago', (forge) => forge.with({ exp: now() - 1 })],
  ['exp: in half a second', (forge) => forge.with({ exp: Date.now() / 1_000 + 0.5 })],
  ['exp: more than a day after iat', (forge) => forge.with({ exp: now() + 90_000 })],
  ['nbf: in forty seconds', (forge) => forge.with({ nbf: now() + 40 })],
  ['iat: in forty seconds', (forge) => forge.with({ iat: now() + 40 })],
  ...ofClaim('nbf', { text: '1', null: null, negative: -1 }),
  ...ofClaim('iat', { text: '1', list: [1] }),
  ...ofClaim('scopes', {
    'too many': Array.from({ length: 17 }, String),
    text: 'a',
    number: 1,
    long: ['s'.repeat(513)],
  }),
  ['a claim twice', (forge) => forge.textWith(`"sub":"workload"`)],
  ['a claim twice, once with an escape', (forge) => forge.textWith(String.raw`"s\u0075b":"workload"`)],
  ['a claim of a claim twice', (forge) => forge.textWith('"a":{"b":1,"b":1}')],
  ['a header member twice', (forge) => forge.raw('{"alg":"ES256","alg":"ES256","kid":"es"}', forge.claims)],
  ['a thousand lists in lists', (forge) => forge.textWith(deep(1_000))],
  ['a thousand claims', (forge) => forge.textWith(Array.from({ length: 1_000 }, (_, index) => `"c${index}":1`).join())],
  ['half a surrogate pair', (forge) => forge.textWith(String.raw`"a":"\ud800"`)],
  ['a NUL', (forge) => forge.textWith(String.raw`"a":"\u0000"`)],
  ['bytes that are no UTF-8', (forge) => forge.raw(HEADER, Buffer.from('7b2261223a22ff227d', 'hex'))],
  ['claims in UTF-16', (forge) => forge.raw(HEADER, Buffer.from(JSON.stringify(forge.claims), 'utf16le'))],
  ['a byte order mark', (forge) => forge.raw(HEADER, `\ufeff${JSON.stringify(forge.claims)}`)],
  ['a subject by way of the prototype', (forge) => prototypeOf(forge)],
];

/** Signed by the key that its own header brings along. */
function inlineKey(forge: TokenForge): string {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return forge.raw({ alg: 'ES256', jwk: publicKey.export({ format: 'jwk' }) }, forge.claims, privateKey);
}

function prototypeOf(forge: TokenForge): string {
  const { sub, ...rest } = forge.claims;
  return forge.raw(HEADER, `{"__proto__":{"sub":${JSON.stringify(sub)}},${JSON.stringify(rest).slice(1)}`);
}
