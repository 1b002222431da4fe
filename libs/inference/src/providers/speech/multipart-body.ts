import { randomBytes } from 'node:crypto';
import type { SizedBody } from '../../wire/upstream-call';

/** A form with one file (RFC 7578). Its bytes are passed on in pieces as they arrive. */
export class MultipartBody implements AsyncIterable<Buffer> {
  readonly contentType: string;
  readonly length: number;
  readonly #boundary = `form-${randomBytes(18).toString('hex')}`;
  readonly #head: Buffer;
  readonly #tail: Buffer;

  /** Fields are pairs of name and value; a name may repeat. File names and types are always ours, never a caller's. */
  constructor(
    fields: readonly (readonly [name: string, value: string])[],
    private readonly file:
      | ({ readonly field: string; readonly name: string; readonly type: string } & {
          readonly bytes: SizedBody;
        })
      | null,
  ) {
    this.contentType = `multipart/form-data; boundary=${this.#boundary}`;
    const plain = fields.map(([name, value]) => `${this.#opening(name)}\r\n\r\n${value}\r\n`).join('');
    const opening = file === null ? '' : this.#fileOpening(file);
    this.#head = Buffer.from(plain + opening);
    this.#tail = Buffer.from(`${file === null ? '' : '\r\n'}--${this.#boundary}--\r\n`);
    this.length = this.#head.length + (file?.bytes.length ?? 0) + this.#tail.length;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void> {
    yield this.#head;
    if (this.file !== null) yield* this.file.bytes;
    yield this.#tail;
  }

  #opening(name: string): string {
    return `--${this.#boundary}\r\nContent-Disposition: form-data; name="${name}"`;
  }

  #fileOpening({ field, name, type }: { field: string; name: string; type: string }): string {
    return `${this.#opening(field)}; filename="${name}"\r\nContent-Type: ${type}\r\n\r\n`;
  }
}
