import { RESULT_FIELD, type BatchView, type CopyRow } from '@libs/persistence';
import { missingResultError } from './batch-view';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Characters below this one are escaped in JSON. */
const SPACE = 0x20;

/**
 * A page of `results`: its elements with commas between them, appended as their rows are read. Fields are copied
 * directly from PostgreSQL's data to the output, including the body, without creating strings or objects.
 */
export class ResultArray {
  count = 0;
  /** Sequence number of the last element; -1 while there is none. */
  lastSeq = -1;
  private buffer: Buffer;
  private used = 0;
  private readonly idPrefix: string;
  private readonly missingError: string;

  /** @param expectedBytes probable size of the page */
  constructor(batch: BatchView, expectedBytes: number) {
    this.buffer = Buffer.allocUnsafe(expectedBytes);
    this.idPrefix = `{"id":"batch_req_${batch.number.toString(36)}_`;
    this.missingError = missingResultError(batch);
  }

  /** The elements so far. */
  get bytes(): Buffer {
    return this.buffer.subarray(0, this.used);
  }

  /** @param row fields of RESULT_FIELD */
  readonly add = (row: CopyRow): void => {
    this.lastSeq = row.integer(RESULT_FIELD.seq);
    const head = `${this.count === 0 ? '' : ','}${this.idPrefix}${this.lastSeq}","custom_id":`;
    this.count += 1;
    if (row.isNull(RESULT_FIELD.body)) this.addError(row, head);
    else this.addResponse(row, head);
  };

  private addResponse(row: CopyRow, head: string): void {
    const { customId, statusCode, requestId, body } = RESULT_FIELD;
    const status = row.isNull(statusCode) ? 'null' : String(row.smallint(statusCode));
    this.addString(head, row, customId);
    this.addString(`,"response":{"status_code":${status},"request_id":`, row, requestId);
    this.write(',"body":');
    this.copy(row, body);
    this.write('},"error":null}');
  }

  private addError(row: CopyRow, head: string): void {
    this.addString(head, row, RESULT_FIELD.customId);
    this.write(',"response":null,"error":');
    if (row.isNull(RESULT_FIELD.error)) this.writeText(this.missingError);
    else this.copy(row, RESULT_FIELD.error);
    this.write('}');
  }

  /** Appends `head` and a text field as JSON. Most texts need no escapes and are copied unchanged. */
  private addString(head: string, row: CopyRow, field: number): void {
    if (row.isNull(field)) return this.write(`${head}null`);
    if (needsEscapes(row, field)) return this.writeText(head + JSON.stringify(row.text(field)));
    this.write(`${head}"`);
    this.copy(row, field);
    this.write('"');
  }

  /** ASCII. */
  private write(text: string): void {
    this.reserve(text.length);
    this.used += this.buffer.write(text, this.used, 'latin1');
  }

  private writeText(text: string): void {
    this.reserve(Buffer.byteLength(text));
    this.used += this.buffer.write(text, this.used);
  }

  private copy(row: CopyRow, field: number): void {
    this.reserve(row.lengthOf(field));
    this.used += row.copy(field, this.buffer, this.used);
  }

  private reserve(length: number): void {
    const needed = this.used + length;
    if (needed <= this.buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.buffer.length * 2, needed));
    this.buffer.copy(larger, 0, 0, this.used);
    this.buffer = larger;
  }
}

function needsEscapes(row: CopyRow, field: number): boolean {
  const start = row.startOf(field);
  const end = start + row.lengthOf(field);
  for (let at = start; at < end; at += 1) {
    const byte = row.bytes[at]!;
    if (byte < SPACE || byte === QUOTE || byte === BACKSLASH) return true;
  }
  return false;
}
