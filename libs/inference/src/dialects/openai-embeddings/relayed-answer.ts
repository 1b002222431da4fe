import { JsonCursor, type ByteEdit, type JsonMember, type ScannedObject } from '@libs/json';
import { countInputs } from './inputs';
import { base64OfNumbers, floatsOfBase64, numbersOf } from './vectors';
import { readUsage, type ReportedUsage } from '../reported-counts';
import { isReportedAt } from '../reported-error';
import { memberText, scanRequest } from '../request-members';

/** Properties of the request that the answer is checked against. */
export interface Expectation {
  readonly inputs: number;
  readonly dimensions: number | null;
  readonly isBase64: boolean;
}

export function readExpectation(body: Buffer): Expectation {
  const request = scanRequest(body);
  const dimensions = Number(memberText(request, 'dimensions')?.toString() ?? Number.NaN);
  const input = memberText(request, 'input');
  return {
    inputs: input === undefined ? 1 : countInputs(new JsonCursor(input)),
    dimensions: Number.isSafeInteger(dimensions) ? dimensions : null,
    isBase64: memberText(request, 'encoding_format')?.toString() === '"base64"',
  };
}

/**
 * Reads an answer in one pass and checks it against the request: every input once, in order, no gaps.
 * Vectors that are not in the caller's encoding are rewritten; all others keep their bytes.
 */
export class EmbeddingsReader {
  readonly members: JsonMember[] = [];
  id: string | null = null;
  usage: ReportedUsage | null = null;
  error: JsonMember | null = null;
  hasData = false;
  /** Edits that add fields which the upstream left out or correct their form. */
  readonly edits: ByteEdit[] = [];
  readonly #cursor: JsonCursor;
  #closeBrace = 0;
  #flaw: string | null = null;
  #length: number | null = null;

  constructor(
    readonly body: Buffer,
    readonly expected: Expectation,
  ) {
    this.#cursor = new JsonCursor(body);
  }

  /** The length of the vectors if it is not the one asked for; else null. */
  get otherDimensions(): number | null {
    const { dimensions } = this.expected;
    return dimensions === null || this.#length === dimensions ? null : this.#length;
  }

  /** Reads the answer. Returns the defect that it has, for our logs; null if it has none. Throws MalformedJson. */
  read(): string | null {
    const cursor = this.#cursor;
    cursor.readObject((key, keyStart) => {
      const valueStart = cursor.position;
      if (key === 'data' && cursor.isArray()) this.#readData();
      else if (key === 'usage') this.usage = readUsage(cursor);
      else if (key === 'id') this.id = cursor.readStringOrNull();
      else cursor.skipValue();
      const member = { key, keyStart, valueStart, valueEnd: cursor.position };
      this.members.push(member);
      if (key === 'error' && isReportedAt({ bytes: this.body }, member)) this.error = member;
    });
    this.#closeBrace = cursor.position - 1;
    cursor.expectEnd();
    return this.hasData ? this.#flaw : 'the answer has no data';
  }

  get scanned(): ScannedObject {
    return { bytes: this.body, members: this.members, closeBrace: this.#closeBrace };
  }

  #readData(): void {
    const cursor = this.#cursor;
    this.hasData = true;
    let items = 0;
    cursor.readArray((position) => {
      items += 1;
      if (cursor.isObject()) this.#readItem(position);
      else this.#blame('an item is no object');
    });
    if (items !== this.expected.inputs) this.#blame(`${items} items for ${this.expected.inputs} inputs`);
  }

  #readItem(position: number): void {
    const cursor = this.#cursor;
    let index: number | null | undefined;
    let hasVector = false;
    let hasType = false;
    cursor.readObject((key) => {
      if (key === 'object') hasType = true;
      if (key === 'index') {
        index = cursor.readNumberOrNull();
      } else if (key === 'embedding') {
        hasVector = true;
        this.#readVector();
      }
    });
    if (!hasVector) this.#blame('an item has no vector');
    if (index !== undefined && index !== position) this.#blame('the items are out of order');
    const missing = (hasType ? '' : ',"object":"embedding"') + (index === undefined ? `,"index":${position}` : '');
    const end = cursor.position - 1;
    if (missing !== '') this.edits.push({ start: end, end, text: missing });
  }

  #readVector(): void {
    const length = this.#cursor.isArray() ? this.#readNumbers() : this.#readBase64();
    if (length === null || length === 0) return this.#blame('a vector is empty or not all numbers');
    this.#length ??= length;
    if (length !== this.#length) this.#blame('a vector has the wrong length');
  }

  #readNumbers(): number | null {
    const start = this.#cursor.position;
    const length = this.#cursor.readNumbers();
    if (length === null || !this.expected.isBase64) return length;
    const end = this.#cursor.position;
    const text = base64OfNumbers(this.body.toString('latin1', start, end));
    if (text !== null) this.edits.push({ start, end, text: `"${text}"` });
    return text === null ? null : length;
  }

  #readBase64(): number | null {
    const start = this.#cursor.position;
    const floats = floatsOfBase64(this.#cursor.readStringOrNull() ?? '');
    if (floats === null) return null;
    if (!this.expected.isBase64) this.edits.push({ start, end: this.#cursor.position, text: numbersOf(floats) });
    return floats.length;
  }

  #blame(flaw: string): void {
    this.#flaw ??= flaw;
  }
}
