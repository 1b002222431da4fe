/** `PGCOPY\n\377\r\n\0`, flags, and the length of a header extension. */
const SIGNATURE_LENGTH = 11;
const FLAGS_LENGTH = 4;

/**
 * One row of a binary COPY stream, field by field, within the bytes that PostgreSQL sent. The same object is reused for
 * the next row: everything that is kept must be copied.
 */
export class CopyRow {
  /** The buffer to which the offsets refer. */
  bytes: Buffer = Buffer.alloc(0);
  private readonly starts: number[] = [];
  private readonly lengths: number[] = [];

  /** Reads the row at `offset`; false when the stream is over there. */
  read(bytes: Buffer, offset: number): boolean {
    const fieldCount = bytes.readInt16BE(offset);
    if (fieldCount < 0) return false;
    this.bytes = bytes;
    let at = offset + 2;
    for (let field = 0; field < fieldCount; field += 1) {
      const length = bytes.readInt32BE(at);
      at += 4;
      this.starts[field] = at;
      this.lengths[field] = length;
      if (length > 0) at += length;
    }
    return true;
  }

  isNull(field: number): boolean {
    return this.lengths[field]! < 0;
  }

  /** Offset of the first byte. */
  startOf(field: number): number {
    return this.starts[field]!;
  }

  /** In bytes; 0 for null. */
  lengthOf(field: number): number {
    return Math.max(0, this.lengths[field]!);
  }

  smallint(field: number): number {
    return this.bytes.readInt16BE(this.starts[field]!);
  }

  integer(field: number): number {
    return this.bytes.readInt32BE(this.starts[field]!);
  }

  text(field: number): string {
    const start = this.starts[field]!;
    return this.bytes.toString('utf8', start, start + this.lengthOf(field));
  }

  /** Returns a copy, which stays valid. */
  bytea(field: number): Buffer {
    const start = this.starts[field]!;
    return Buffer.from(this.bytes.subarray(start, start + this.lengthOf(field)));
  }

  /** Copies the field's bytes into `target` and returns their number. */
  copy(field: number, target: Buffer, at: number): number {
    const start = this.starts[field]!;
    return this.bytes.copy(target, at, start, start + this.lengthOf(field));
  }
}

/** Returns the offset of the first row in the message that opens the stream. */
export function afterCopyHeader(bytes: Buffer): number {
  const at = SIGNATURE_LENGTH + FLAGS_LENGTH;
  return at + 4 + bytes.readInt32BE(at);
}
