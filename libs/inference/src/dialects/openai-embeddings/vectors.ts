/**
 * Bytes of a 32-bit float. A vector is either a list of JSON numbers, or base64 of little-endian 32-bit floats. Every
 * 32-bit float equals a JSON number, so base64 is converted to numbers without loss.
 */
const FLOAT_BYTES = 4;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

export function base64OfVector(vector: readonly number[]): string {
  const floats = Buffer.allocUnsafe(vector.length * FLOAT_BYTES);
  vector.forEach((value, index) => floats.writeFloatLE(value, index * FLOAT_BYTES));
  return floats.toString('base64');
}

/** Returns base64 of a JSON list of numbers; null if an element is not a finite 32-bit float. */
export function base64OfNumbers(list: string): string | null {
  const numbers = JSON.parse(list) as readonly number[];
  return numbers.every((number) => Number.isFinite(Math.fround(number))) ? base64OfVector(numbers) : null;
}

/** Returns the floats of a base64 text as bytes; null if it does not hold 32-bit floats, or one is not finite. */
export function floatsOfBase64(text: string): Buffer | null {
  if (!BASE64.test(text)) return null;
  const floats = Buffer.from(text, 'base64');
  if (floats.length % FLOAT_BYTES !== 0) return null;
  for (let at = 0; at < floats.length; at += FLOAT_BYTES) {
    // All bits of the exponent are set: the value is NaN or infinite.
    if ((floats[at + 3]! & 0x7f) === 0x7f && (floats[at + 2]! & 0x80) !== 0) return null;
  }
  return floats;
}

export function dimensionsOf(floats: Buffer): number {
  return floats.length / FLOAT_BYTES;
}

/** The floats as a JSON list. */
export function numbersOf(floats: Buffer): string {
  const numbers: number[] = [];
  for (let at = 0; at < floats.length; at += FLOAT_BYTES) numbers.push(floats.readFloatLE(at));
  return JSON.stringify(numbers);
}
