import { createPrivateKey, generateKeyPairSync, randomBytes, type JsonWebKey } from 'node:crypto';

export const PARTS = ['n', 'e', 'd', 'p', 'q', 'dp', 'dq', 'qi'] as const;
type Numbers = Readonly<Record<(typeof PARTS)[number], Buffer>>;

/** An honest key, in PEM. */
export function rsaKey(modulusLength: number): string {
  return generateKeyPairSync('rsa', { modulusLength }).privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
}

export function numbersOf(pem: string): Numbers {
  const jwk: JsonWebKey = createPrivateKey(pem).export({ format: 'jwk' });
  // Zeros that a JWK may have in front are no part of a number.
  const shortest = (bytes: Buffer): Buffer => bytes.subarray(bytes.findIndex((byte) => byte !== 0));
  const entries = PARTS.map((part) => [part, shortest(Buffer.from(jwk[part] as string, 'base64url'))]);
  return Object.fromEntries(entries) as Numbers;
}

/** A modulus of so many bits with primes of one byte each, which OpenSSL takes and signs with slowly. */
export function crookedRsaKey(bits: number): string {
  const [n, d] = [randomBytes(bits / 8), randomBytes(bits / 8)];
  n[0]! |= 0x80;
  d[0] = 0x7f;
  const small = { p: 0x0d, q: 0x0b, dp: 5, dq: 3, qi: 6 };
  const numbers = { n, d, e: Buffer.from([1, 0, 1]) };
  const known = Object.fromEntries(Object.entries(small).map(([part, value]) => [part, Buffer.from([value])]));
  return pemOf(derOf({ ...numbers, ...known } as Numbers));
}

/** PKCS #8 of an RSA key of any numbers, with more elements behind them. */
export function derOf(
  numbers: Numbers,
  { version = 0, rest = [] }: { version?: number; rest?: Buffer[] } = {},
): Buffer {
  const algorithm = element(0x30, Buffer.from('06092a864886f70d0101010500', 'hex'));
  const members = PARTS.map((part) => integer(numbers[part]));
  const key = element(0x30, integer(Buffer.from([version])), ...members, ...rest);
  return element(0x30, integer(Buffer.alloc(1)), algorithm, element(0x04, key));
}

export function pemOf(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g)!;
  return ['-----BEGIN PRIVATE KEY-----', ...lines, '-----END PRIVATE KEY-----', ''].join('\n');
}

export function integer(bytes: Buffer): Buffer {
  return element(0x02, bytes[0]! >= 0x80 ? Buffer.concat([Buffer.alloc(1), bytes]) : bytes);
}

function element(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}
