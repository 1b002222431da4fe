import { estimatePromptTokens } from '../model/estimate';
import { brokenAnswer, errorInside, readComplaintAt } from '../providers/upstream-error';
import type { Endpoint } from '../routing/catalogue';
import { contextLengthOf, ownMembers, priceOf } from './billing';
import type { Answer, AnswerContext, Dialect } from './dialect';
import { JsonCursor } from './json-cursor';
import { MalformedJson } from './json-grammar';
import {
  applyEdits,
  memberEdits,
  spliceMembers,
  type ByteEdit,
  type JsonMember,
  type ScannedObject,
} from './json-members';
import { readUsage, settleUsage, usageEdits, usageText, type ReportedUsage } from './openai-usage';
import { GATEWAY_MEMBERS, hashedUser, memberText, scanRequest } from './request-members';

/** OpenAI's embeddings (interface §2.6, §4.6), asked of an upstream that speaks them too. */
export const openAiEmbeddings: Dialect = { name: 'openai-embeddings', api: 'embeddings', toUpstream, readAnswer };

function toUpstream(body: Buffer, endpoint: Endpoint): Buffer {
  const request = scanRequest(body);
  const set: Record<string, string> = { model: JSON.stringify(endpoint.upstreamModel) };
  const user = hashedUser(request);
  if (user !== undefined) set['user'] = user;
  return spliceMembers(request, { set, remove: GATEWAY_MEMBERS });
}

/** What the caller asked for, as far as the answer can be held against it. */
interface Expectation {
  readonly inputs: number;
  readonly dimensions: number | null;
}

function readExpectation(body: Buffer): Expectation {
  const request = scanRequest(body);
  const dimensions = Number(memberText(request, 'dimensions')?.toString() ?? Number.NaN);
  const input = memberText(request, 'input');
  return {
    inputs: input === undefined ? 1 : countInputs(new JsonCursor(input)),
    dimensions: Number.isSafeInteger(dimensions) ? dimensions : null,
  };
}

/** A string or a list of token ids is one input; any other list holds one input per element. */
function countInputs(cursor: JsonCursor): number {
  if (!cursor.isArray()) return 1;
  const start = cursor.position;
  if (cursor.readNumbers() !== null) return 1;
  cursor.position = start;
  let inputs = 0;
  cursor.readArray(() => (inputs += 1));
  return inputs;
}

function readAnswer(body: Buffer, context: AnswerContext): Answer {
  const { provider } = context.endpoint;
  const reader = new EmbeddingsReader(body, readExpectation(context.requestBody));
  const flaw = readOrRefuse(reader, context);
  if (reader.error !== null && !reader.hasData) {
    throw errorInside(provider, readComplaintAt(new JsonCursor(body, reader.error.valueStart), 0));
  }
  if (flaw !== null) throw brokenAnswer(provider, flaw);
  const usage = settleUsage(reader.usage?.counts ?? null, {
    maxPromptTokens: contextLengthOf(context) * reader.expected.inputs,
    maxCompletionTokens: 0,
    estimate: () => ({ promptTokens: estimatePromptTokens(context.requestBody), completionTokens: 0 }),
    fallback: 'estimated',
  });
  const cost = priceOf(usage, context);
  const set = ownMembers(context);
  if (reader.usage === null) set['usage'] = usageText(usage, cost, false);
  const inner = reader.usage === null ? [] : usageEdits(reader.usage, usage, cost, false);
  const edits = [...memberEdits(reader.scanned, { set }), ...reader.indexEdits, ...inner];
  return {
    body: applyEdits(
      body,
      edits.sort((a, b) => a.start - b.start),
    ),
    usage,
    cost,
    finishReason: null,
    nativeFinishReason: null,
    upstreamId: reader.id,
  };
}

function readOrRefuse(reader: EmbeddingsReader, { endpoint }: AnswerContext): string | null {
  try {
    return reader.read();
  } catch (thrown) {
    if (thrown instanceof MalformedJson) throw brokenAnswer(endpoint.provider, 'the answer is not JSON', thrown);
    throw thrown;
  }
}

/** One pass over the answer that also holds it against what was asked (every input once, in order, no gaps). */
class EmbeddingsReader {
  readonly members: JsonMember[] = [];
  id: string | null = null;
  usage: ReportedUsage | null = null;
  error: JsonMember | null = null;
  hasData = false;
  /** Adds `index` to items of upstreams that leave it out. */
  readonly indexEdits: ByteEdit[] = [];
  readonly #cursor: JsonCursor;
  #closeBrace = 0;
  #flaw: string | null = null;
  #length: number | null;

  constructor(
    readonly body: Buffer,
    readonly expected: Expectation,
  ) {
    this.#cursor = new JsonCursor(body);
    this.#length = expected.dimensions;
  }

  /** What is wrong with the answer, for our logs, or null. Throws MalformedJson. */
  read(): string | null {
    const cursor = this.#cursor;
    cursor.readObject((key, keyStart) => {
      const valueStart = cursor.position;
      const isNull = cursor.isNull();
      if (key === 'data' && cursor.isArray()) this.#readData();
      else if (key === 'usage') this.usage = readUsage(cursor);
      else if (key === 'id') this.id = cursor.readStringOrNull();
      else cursor.skipValue();
      const member = { key, keyStart, valueStart, valueEnd: cursor.position };
      this.members.push(member);
      if (key === 'error' && !isNull) this.error = member;
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
    cursor.readObject((key) => {
      if (key === 'index') {
        index = cursor.readNumberOrNull();
      } else if (key === 'embedding') {
        hasVector = true;
        this.#readVector();
      }
    });
    if (!hasVector) this.#blame('an item has no vector');
    if (index === undefined) {
      const end = cursor.position - 1;
      this.indexEdits.push({ start: end, end, text: `,"index":${position}` });
    } else if (index !== position) {
      this.#blame('the items are out of order');
    }
  }

  #readVector(): void {
    const cursor = this.#cursor;
    const length = cursor.isArray() ? cursor.readNumbers() : this.#readBase64();
    if (length === null || length === 0) return this.#blame('a vector is empty or not all numbers');
    this.#length ??= length;
    if (length !== this.#length) this.#blame('a vector has the wrong length');
  }

  /** The number of little-endian 32-bit floats, or null when they are no such thing or one is not finite. */
  #readBase64(): number | null {
    const text = this.#cursor.readStringOrNull();
    if (text === null || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return null;
    const floats = Buffer.from(text, 'base64');
    if (floats.length % 4 !== 0) return null;
    for (let at = 0; at < floats.length; at += 4) {
      // All bits of the exponent set: NaN or an infinity.
      if ((floats[at + 3]! & 0x7f) === 0x7f && (floats[at + 2]! & 0x80) !== 0) return null;
    }
    return floats.length / 4;
  }

  #blame(flaw: string): void {
    this.#flaw ??= flaw;
  }
}
