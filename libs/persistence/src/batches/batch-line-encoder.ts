/**
 * Encodes lines of a batch in PostgreSQL's binary COPY format as they arrive: one growing buffer, no object per line
 * and no text escaping.
 *
 * Columns, in this order: created_on date, batch_number bigint, seq integer, custom_id text, body bytea.
 */
export class BatchLineEncoder {
  private buffer: Buffer = Buffer.allocUnsafe(FIRST_BYTES);
  private used = 0;
  private readonly rowHead: Buffer;

  /**
   * @param sliceBytes approximate bytes that are collected before they are taken; no more memory than that is kept for
   * long
   */
  constructor(
    createdOn: string,
    batchNumber: bigint,
    private readonly sliceBytes: number,
  ) {
    this.rowHead = encodeRowHead(createdOn, batchNumber);
    this.begin();
  }

  /** Bytes gathered so far. */
  get size(): number {
    return this.used;
  }

  add(seq: number, customId: string, body: Buffer): void {
    const customIdLength = Buffer.byteLength(customId);
    this.reserve(this.rowHead.length + 8 + 4 + customIdLength + 4 + body.length);
    this.used += this.rowHead.copy(this.buffer, this.used);
    this.used = this.buffer.writeInt32BE(4, this.used);
    this.used = this.buffer.writeInt32BE(seq, this.used);
    this.used = this.buffer.writeInt32BE(customIdLength, this.used);
    this.used += this.buffer.write(customId, this.used);
    this.used = this.buffer.writeInt32BE(body.length, this.used);
    this.used += body.copy(this.buffer, this.used);
  }

  /** Returns the finished COPY stream; the encoder starts a new one. The bytes are valid until the next `add`. */
  take(): Buffer {
    this.reserve(2);
    this.used = this.buffer.writeInt16BE(-1, this.used);
    const bytes = this.buffer.subarray(0, this.used);
    this.begin();
    return bytes;
  }

  private begin(): void {
    this.used = SIGNATURE.copy(this.buffer, 0);
    this.used = this.buffer.writeInt32BE(0, this.used);
    this.used = this.buffer.writeInt32BE(0, this.used);
  }

  private reserve(length: number): void {
    if (this.used + length <= this.buffer.length) return;
    const doubled = Math.min(this.buffer.length * 2, this.sliceBytes + OVERSHOOT_BYTES);
    const larger = Buffer.allocUnsafe(Math.max(doubled, this.used + length));
    this.buffer.copy(larger, 0, 0, this.used);
    this.buffer = larger;
  }
}

const FIRST_BYTES = 64 * 1024;
/** Spare bytes: a slice is taken when it is full, which is noticed after a chunk of the upload. */
const OVERSHOOT_BYTES = 256 * 1024;

const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1');
const DAY_MS = 86_400_000;
const POSTGRES_EPOCH_MS = Date.UTC(2000, 0, 1);

function encodeRowHead(createdOn: string, batchNumber: bigint): Buffer {
  const head = Buffer.alloc(2 + 4 + 4 + 4 + 8);
  head.writeInt16BE(5, 0);
  head.writeInt32BE(4, 2);
  head.writeInt32BE((Date.parse(`${createdOn}T00:00:00Z`) - POSTGRES_EPOCH_MS) / DAY_MS, 6);
  head.writeInt32BE(8, 10);
  head.writeBigInt64BE(batchNumber, 14);
  return head;
}
