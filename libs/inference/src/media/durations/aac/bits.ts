/** Reads bit fields, the highest bit first. After the end of the data it reads zeros. */
export class Bits {
  /** Offset of the next bit. */
  position = 0;

  constructor(private readonly bytes: Buffer) {}

  get isPastEnd(): boolean {
    return this.position > this.bytes.length * 8;
  }

  /** Offset of the next byte that has not been started. */
  get nextByte(): number {
    return (this.position + 7) >> 3;
  }

  /** @param count at most 24 */
  peek(count: number): number {
    const at = this.position >> 3;
    const { bytes } = this;
    const four =
      at + 4 <= bytes.length
        ? bytes.readInt32BE(at)
        : ((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8);
    return (four << (this.position & 7)) >>> (32 - count);
  }

  /** @param count at most 24 */
  read(count: number): number {
    const value = this.peek(count);
    this.position += count;
    return value;
  }

  has(): boolean {
    return this.read(1) === 1;
  }
}
