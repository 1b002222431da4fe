/**
 * Finds what is known of names in a JSON text without making strings of them. The names must differ in length or in
 * their first byte.
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

  /** Returns what is known of the name between two offsets. */
  find(bytes: Buffer, start: number, end: number): T | undefined {
    const known = this.known.get(keyOf(end - start, bytes[start]!));
    if (known === undefined || bytes.compare(known.name, 0, known.name.length, start, end) !== 0) return undefined;
    return known.value;
  }
}

function keyOf(length: number, firstByte: number): number {
  return length * 256 + firstByte;
}
