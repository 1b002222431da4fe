import {
  JsonCursor,
  findMember,
  isObject,
  memberEdits,
  numberOf,
  parseJson,
  scanMembersAt,
  stringOf,
  type ByteEdit,
  type JsonMember,
  type ScannedObject,
} from '@libs/json';
import { missingCallId } from './answer-reader';
import { CallNumbers, type CallPiece, type NumberedCall } from './call-numbers';

const CALLS = 'tool_calls';
const NO_EDITS: readonly ByteEdit[] = [];

/**
 * Gives each tool call in the chunks of a stream an index of its own, and an id. Clients join the pieces of calls by
 * the index alone: two calls with one index become one that cannot be read, and OpenAI's and Vercel's SDKs refuse a
 * call without.
 */
export class NumberedCalls {
  /** By the number of the choice. */
  readonly #numbers = new Map<number, CallNumbers>();
  readonly #begun = new Set<NumberedCall>();

  /** @param onBroken called if there are too many calls; `reason` is for our logs */
  constructor(private readonly onBroken: (reason: string) => never) {}

  /** Returns the edits of a chunk, in order. Throws MalformedJson. */
  editsOf(chunk: Buffer): readonly ByteEdit[] {
    if (!chunk.includes(CALLS)) return NO_EDITS;
    return callsIn(chunk, 'delta').flatMap(({ choice, call }) => {
      const piece = pieceOf(call);
      const known = this.#numbersOf(choice).callOf(piece);
      const set: Record<string, string> = {};
      if (piece.index !== known.number) set['index'] = String(known.number);
      if (!piece.id && !this.#begun.has(known)) set['id'] = JSON.stringify(missingCallId());
      this.#begun.add(known);
      return memberEdits(call, { set });
    });
  }

  #numbersOf(choice: number): CallNumbers {
    const known = this.#numbers.get(choice) ?? new CallNumbers(this.onBroken);
    this.#numbers.set(choice, known);
    return known;
  }
}

/** Returns the edits that give each tool call of a whole answer an id if it has none, in order. Throws MalformedJson. */
export function identifyingEdits(answer: Buffer): readonly ByteEdit[] {
  return callsIn(answer, 'message').flatMap(({ call }) => {
    if (pieceOf(call).id) return [];
    return memberEdits(call, { set: { id: JSON.stringify(missingCallId()) } });
  });
}

interface FoundCall {
  readonly choice: number;
  readonly call: ScannedObject;
}

/** @param holder name of the member of a choice that holds its calls */
function callsIn(bytes: Buffer, holder: string): readonly FoundCall[] {
  const body = scanMembersAt(new JsonCursor(bytes));
  return objectsAt(body, 'choices').flatMap((choice, place) => {
    const said = findMember(choice, holder);
    const cursor = said && new JsonCursor(bytes, said.valueStart);
    if (!cursor?.isObject()) return [];
    const number = numberOf(valueOf(choice, 'index')) ?? place;
    return objectsAt(scanMembersAt(cursor), CALLS).map((call) => ({ choice: number, call }));
  });
}

function objectsAt(object: ScannedObject, name: string): readonly ScannedObject[] {
  const member = findMember(object, name);
  const cursor = member && new JsonCursor(object.bytes, member.valueStart);
  if (!cursor?.isArray()) return [];
  const found: ScannedObject[] = [];
  cursor.enterArray();
  while (cursor.nextElement()) {
    if (cursor.isObject()) found.push(scanMembersAt(cursor));
    else cursor.skipValue();
  }
  return found;
}

function pieceOf(call: ScannedObject): CallPiece {
  const called = valueOf(call, 'function');
  const { name, arguments: text } = isObject(called) ? called : {};
  return {
    index: numberOf(valueOf(call, 'index')) ?? null,
    id: stringOf(valueOf(call, 'id')) || null,
    name: stringOf(name) || null,
    text: stringOf(text) ?? '',
  };
}

function valueOf(object: ScannedObject, name: string): unknown {
  const member: JsonMember | undefined = findMember(object, name);
  return member && parseJson(object.bytes.subarray(member.valueStart, member.valueEnd));
}
