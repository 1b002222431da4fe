/**
 * A map from field names in a JSON text to values. It compares bytes and creates no strings. The names must differ in
 * length or in their first byte.
 */
export class ByteNames<T> {
  private readonly known = new Map<number, { readonly name: Buffer; readonly value: T }>();

  constructor(names: Readonly<Record<string, T>>) {
    for (const [name, value] of Object.entries(names)) {
      const key = keyOf(name.length, name.charCodeAt(0));
      if (this.known.has(key)) throw new Error(`${name} has the length and the first byte of another name`);
      this.known.set(key, { name: Buffer.from(name), value });
    }
  }

  /** Returns the value for the field name between two offsets. */
  find(bytes: Buffer, start: number, end: number): T | undefined {
    const known = this.known.get(keyOf(end - start, bytes[start]!));
    return known !== undefined && isAt(known.name, bytes, start) ? known.value : undefined;
  }
}

/** Compares bytes in a loop: names are short, and a call to native code would take longer. */
function isAt(name: Buffer, bytes: Buffer, start: number): boolean {
  for (let i = 1; i < name.length; i += 1) if (name[i] !== bytes[start + i]) return false;
  return true;
}

function keyOf(length: number, firstByte: number): number {
  return length * 256 + firstByte;
}

/** Decodes a name that is written with JSON escapes. Only `\u` escapes are decoded: our names are letters. */
export function unescapedName(text: string): Buffer {
  return Buffer.from(
    text.replace(/\\u([0-9a-fA-F]{4})/g, (_, code: string) => String.fromCharCode(parseInt(code, 16))),
  );
}
