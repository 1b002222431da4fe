import { DER, DerProblem, DerReader } from './der-reader';

const PEM = /^-----BEGIN PRIVATE KEY-----\n([\w+/=\n]{1,8192})-----END PRIVATE KEY-----\n?$/;
/** `rsaEncryption` without parameters (RFC 8017 appendix A.1). */
const RSA = Buffer.from('06092a864886f70d0101010500', 'hex');
const MIN_BITS = 2_048;
/** A signature by a key of 4096 bits takes some 7 ms; the time grows with the third power of the bits. */
const MAX_BITS = 4_096;
/** Exponents in use are 3 and 65537. */
const MAX_EXPONENT_BITS = 32;
const NUMBERS = 8;

/**
 * Returns what is wrong with a private key in PEM; null if it is an RSA key in PKCS #8 that signs quickly.
 *
 * OpenSSL does not check whether the numbers of a key fit together: with wrong primes it uses the whole exponent
 * instead, which takes far longer. For keys of other types it may compute the public part while reading them. So the
 * key is checked here before any library gets it.
 */
export function findRsaKeyProblem(pem: string): string | null {
  const numbers = numbersOf(pem);
  if (numbers === null) return 'must be an RSA key in PKCS #8';
  const bits = bitsOf(numbers[0]!);
  if (bits < MIN_BITS || bits > MAX_BITS) return `must be of ${MIN_BITS} to ${MAX_BITS} bits`;
  return bitsOf(numbers[1]!) <= MAX_EXPONENT_BITS && doFit(numbers, bits) ? null : 'has parts that do not fit together';
}

/** Returns the numbers of an RSA key; null if it is not one. */
function numbersOf(pem: string): readonly Buffer[] | null {
  try {
    return readNumbers(pem);
  } catch (thrown) {
    if (thrown instanceof DerProblem) return null;
    throw thrown;
  }
}

/** Reads `RSAPrivateKey` (RFC 8017 appendix A.1.2) in `PrivateKeyInfo` (RFC 5208 §5) up to its last number. */
function readNumbers(pem: string): readonly Buffer[] {
  const text = PEM.exec(pem)?.[1]?.replaceAll('\n', '') ?? '';
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') !== text) throw new DerProblem('No base64');
  const info = contentOf(bytes);
  readVersion(info);
  if (!info.next(DER.sequence).equals(RSA)) throw new DerProblem('No RSA key');
  const key = contentOf(info.next(DER.octetString));
  info.end();
  readVersion(key);
  const numbers = Array.from({ length: NUMBERS }, () => key.nextNumber());
  key.end();
  return numbers;
}

/** A reader of the one sequence that the bytes are. */
function contentOf(bytes: Buffer): DerReader {
  const outer = new DerReader(bytes);
  const content = outer.next(DER.sequence);
  outer.end();
  return new DerReader(content);
}

/** Another version has fields that are not read here. */
function readVersion(reader: DerReader): void {
  if (!reader.nextNumber().equals(Buffer.alloc(1))) throw new DerProblem('Another version');
}

function bitsOf(number: Buffer): number {
  return number.length * 8 - (Math.clz32(number[0]!) - 24);
}

/** @param bits of the modulus, which no other number may exceed */
function doFit(numbers: readonly Buffer[], bits: number): boolean {
  if (numbers.some((number) => bitsOf(number) > bits)) return false;
  const [n, e, d, p, q, dp, dq, inverse] = numbers.map((number) => BigInt(`0x${number.toString('hex')}`)) as [
    bigint,
    bigint,
    bigint,
    bigint,
    bigint,
    bigint,
    bigint,
    bigint,
  ];
  if (p < 3n || q < 3n || p * q !== n) return false;
  if (dp !== d % (p - 1n) || dq !== d % (q - 1n)) return false;
  return (e * dp) % (p - 1n) === 1n && (e * dq) % (q - 1n) === 1n && (inverse * q) % p === 1n;
}
