import {
  JsonCursor,
  findMember,
  joinEdits,
  memberEdits,
  type ByteEdit,
  type JsonMember,
  type MemberEdits,
  type ScannedObject,
} from '@libs/json';
import type { FinishReason } from '../../model/finish-reason';
import type { TextCounter } from '../../model/text-tokens';
import { EXECUTED_TOOLS, readExecutedTools, URL_CITATION, type ExecutedTools } from './executed-tools';
import { THOUGHT_MEMBERS } from './hidden-thoughts';
import { readEnd } from './relayed-end';
import { readUsage, type ReportedUsage } from '../reported-counts';
import { isReportedAt } from '../reported-error';

/** Result of scanning a `chat.completion` or `chat.completion.chunk` once. */
export interface ChatObject extends ScannedObject {
  readonly id: string | null;
  /** Number of choices; null if the array `choices` is missing. */
  readonly choiceCount: number | null;
  readonly finishReason: FinishReason | null;
  readonly nativeFinishReason: string | null;
  readonly pictures: number;
  /** Length of the sound in base64 characters. */
  readonly audioBytes: number;
  /** Whether the model calls functions in some choice. */
  readonly hasCalls: boolean;
  readonly usage: ReportedUsage | null;
  /** `usage`, or else the usage inside a choice (Moonshot) or inside `x_groq`. */
  readonly reported: ReportedUsage | null;
  readonly serviceTier: string | null;
  /** The member `error`, if it reports one: see `isReportedAt`. */
  readonly error: JsonMember | null;
  /** Edits inside `choices`. */
  readonly choiceEdits: readonly ByteEdit[];
}

/** Fields that a message and its choice must have and some upstreams omit, as JSON text. */
const MESSAGE_MEMBERS = { role: '"assistant"', content: 'null', refusal: 'null' };
const NOTHING_HIDDEN: readonly string[] = [];

/** String fields of a message or delta that hold no output of the model. */
const NOT_CONTENT = new Set(['role', 'id', 'type', 'format', 'signature', 'data', 'url', 'expires_at']);

export interface ChatReading {
  /** Offset of the key to start at; the fields before it are known and are not read again. */
  readonly from?: number;
  /** True: thoughts are counted, and `choiceEdits` removes them. */
  readonly hidesThoughts?: boolean;
  /** Counts text and tool arguments of all choices. */
  readonly text?: TextCounter;
  /** Counts the tools that the upstream ran. */
  readonly ran?: ExecutedTools;
}

/** Reads the object in one pass. Throws MalformedJson for anything but one JSON object. */
export function readChatObject(bytes: Buffer, reading: ChatReading = {}): ChatObject {
  const { from = 0, hidesThoughts = false, text, ran } = reading;
  const cursor = new JsonCursor(bytes, from);
  const reader = new ChatReader(cursor, hidesThoughts ? THOUGHT_MEMBERS : NOTHING_HIDDEN, { text, ran });
  if (from === 0) cursor.enterObject();
  else cursor.resumeObject();
  reader.readMembers();
  cursor.expectEnd();
  return reader;
}

class ChatReader implements ChatObject {
  readonly bytes: Buffer;
  readonly members: JsonMember[] = [];
  closeBrace = 0;
  id: string | null = null;
  choiceCount: number | null = null;
  finishReason: FinishReason | null = null;
  nativeFinishReason: string | null = null;
  pictures = 0;
  audioBytes = 0;
  hasCalls = false;
  usage: ReportedUsage | null = null;
  serviceTier: string | null = null;
  error: JsonMember | null = null;
  choiceEdits: ByteEdit[] = [];
  #innerUsage: ReportedUsage | null = null;
  readonly #cursor: JsonCursor;
  readonly #hidden: readonly string[];
  /** Number of the choice at the cursor. */
  #choice = 0;
  /** Whether the model calls functions in the choice at the cursor. */
  #choiceHasCalls = false;

  /** `hidden`: fields to remove from messages and deltas. */
  constructor(
    cursor: JsonCursor,
    hidden: readonly string[],
    private readonly counters: Pick<ChatReading, 'text' | 'ran'>,
  ) {
    this.#cursor = cursor;
    this.#hidden = hidden;
    this.bytes = cursor.bytes;
  }

  get reported(): ReportedUsage | null {
    return this.usage ?? this.#innerUsage;
  }

  /** Reads the fields of the object at the cursor. */
  readMembers(): void {
    const cursor = this.#cursor;
    for (let key = cursor.nextKey(); key !== null; key = cursor.nextKey()) {
      const { keyStart, position: valueStart } = cursor;
      this.#readMember(key);
      const member = { key, keyStart, valueStart, valueEnd: cursor.position };
      this.members.push(member);
      if (key === 'error' && isReportedAt(this, member)) this.error = member;
    }
    this.closeBrace = cursor.position - 1;
  }

  #readMember(key: string): void {
    const cursor = this.#cursor;
    if (key === 'choices') this.#readChoices();
    else if (key === 'usage') this.usage = readUsage(cursor);
    else if (key === 'id') this.id = cursor.readStringOrNull();
    else if (key === 'service_tier') this.serviceTier = cursor.readStringOrNull();
    else if (key === 'x_groq') this.#readGroq();
    else cursor.skipValue();
  }

  #readGroq(): void {
    const cursor = this.#cursor;
    if (!cursor.isObject()) return cursor.skipValue();
    cursor.enterObject();
    for (let key = cursor.nextKey(); key !== null; key = cursor.nextKey()) this.#readInnerUsage(key);
  }

  /** Reads a usage inside a choice or `x_groq`; skips any other field. */
  #readInnerUsage(key: string): void {
    if (key === 'usage') this.#innerUsage = readUsage(this.#cursor) ?? this.#innerUsage;
    else this.#cursor.skipValue();
  }

  #readChoices(): void {
    const cursor = this.#cursor;
    if (!cursor.isArray()) return cursor.skipValue();
    let count = 0;
    this.choiceEdits = [];
    cursor.enterArray();
    while (cursor.nextElement()) {
      this.#choice = count;
      count += 1;
      if (cursor.isObject()) this.#readChoice();
    }
    this.choiceCount = count;
  }

  #readChoice(): void {
    const cursor = this.#cursor;
    const members: JsonMember[] = [];
    let native: string | null = null;
    let isWhole = false;
    this.#choiceHasCalls = false;
    cursor.enterObject();
    for (let key = cursor.nextKey(); key !== null; key = cursor.nextKey()) {
      const { keyStart, position: valueStart } = cursor;
      if (key === 'delta' || key === 'message') isWhole = this.#readSaid(key) || isWhole;
      else if (key === 'index') this.#choice = cursor.readNumberOrNull() ?? this.#choice;
      else if (key === 'native_finish_reason') native = cursor.readStringOrNull();
      else this.#readInnerUsage(key);
      members.push({ key, keyStart, valueStart, valueEnd: cursor.position });
    }
    this.#endChoice({ bytes: this.bytes, members, closeBrace: cursor.position - 1 }, native, isWhole);
  }

  /** Reads a message or delta. Returns whether it is a message, which only a whole answer has. */
  #readSaid(key: string): boolean {
    const isObject = this.#cursor.isObject();
    if (isObject) this.#readMessage(key === 'message' ? MESSAGE_MEMBERS : {});
    else this.#readContent(key);
    return isObject && key === 'message';
  }

  /** `isWhole`: the answer is not a stream. */
  #endChoice(choice: ScannedObject, native: string | null, isWhole: boolean): void {
    const end = readEnd(choice, { native, isWhole, hasCalls: this.#choiceHasCalls });
    if (this.#choiceHasCalls) this.hasCalls = true;
    if (end.finishReason !== null) {
      this.finishReason = end.finishReason;
      this.nativeFinishReason = end.nativeFinishReason;
    }
    this.choiceEdits.push(...end.edits);
    if (isWhole) this.#complete(choice, end.required);
  }

  #readMessage(required: Readonly<Record<string, string>>): void {
    const cursor = this.#cursor;
    const members: JsonMember[] = [];
    cursor.enterObject();
    for (let key = cursor.nextKey(); key !== null; key = cursor.nextKey()) {
      const { keyStart, position: valueStart } = cursor;
      this.#readContent(key);
      members.push({ key, keyStart, valueStart, valueEnd: cursor.position });
    }
    const message = { bytes: this.bytes, members, closeBrace: cursor.position - 1 };
    if (this.#hidden.length === 0) this.#repeatThought(message);
    this.#complete(message, required, this.#hidden);
  }

  /** Repeats `reasoning_content` under the name that callers of this API know, unless that name has a value. */
  #repeatThought(message: ScannedObject): void {
    const thought = findMember(message, 'reasoning_content');
    const text = thought && this.#textOf(thought);
    if (!text?.startsWith('"') || text === '""') return;
    const known = findMember(message, 'reasoning');
    const { valueStart: start, valueEnd: end } = known ?? thought!;
    if (known === undefined) this.choiceEdits.push({ start: end, end, text: `,"reasoning":${text}` });
    else if (['null', '""'].includes(this.#textOf(known))) this.choiceEdits.push({ start, end, text });
  }

  #textOf({ valueStart, valueEnd }: JsonMember): string {
    return this.bytes.toString('utf8', valueStart, valueEnd);
  }

  /** Adds the fields of `required` that an object lacks, and removes those of `hidden`. */
  #complete(object: ScannedObject, required: Readonly<Record<string, string>>, hidden = NOTHING_HIDDEN): void {
    let missing: Record<string, string> | undefined;
    for (const name in required) if (!findMember(object, name)) (missing ??= {})[name] = required[name]!;
    if (missing === undefined && hidden.length === 0) return;
    this.choiceEdits.push(...memberEdits(object, { set: missing, remove: hidden }));
  }

  /** @param around name of the object that contains the field */
  #readContent(key: string, around = ''): void {
    const cursor = this.#cursor;
    if (key === EXECUTED_TOOLS && cursor.isArray()) return this.#readExecuted();
    if (cursor.isObject()) {
      this.#readInside(key, around);
    } else if (cursor.isArray()) {
      cursor.enterArray();
      while (cursor.nextElement()) {
        if (key === 'images') this.pictures += 1;
        else if (key === 'tool_calls') this.#choiceHasCalls = true;
        this.#readContent(key, around);
      }
    } else {
      this.#readLeaf(key, around);
    }
  }

  #readInside(key: string, around: string): void {
    const cursor = this.#cursor;
    if (key === URL_CITATION && around === 'annotations') this.counters.ran?.cite();
    cursor.enterObject();
    for (let name = cursor.nextKey(); name !== null; name = cursor.nextKey()) this.#readContent(name, key);
  }

  #readLeaf(key: string, around: string): void {
    const cursor = this.#cursor;
    const isString = cursor.isString();
    const start = cursor.position;
    cursor.skipValue();
    if (isString) this.#countText(key, around, start + 1);
  }

  #readExecuted(): void {
    const choice = this.#choice;
    const onTool = (place: number, type: string): void => this.counters.ran?.add(choice, place, type);
    readExecutedTools(this.#cursor, onTool, (key) => this.#readContent(key));
  }

  /** Counts the string that ends at the cursor. */
  #countText(key: string, around: string, start: number): void {
    const end = this.#cursor.position - 1;
    if (key === 'data' && around === 'audio') this.audioBytes += end - start;
    else if (!NOT_CONTENT.has(key)) this.counters.text?.add(this.bytes, start, end);
  }
}

/** Returns the edits of the object in order: fields set or removed, those of `choices`, and `more` of `usage`. */
export function chatEdits(
  chat: ChatObject,
  { set = {}, remove = [] }: MemberEdits,
  more: readonly ByteEdit[] = [],
): readonly ByteEdit[] {
  return joinEdits(joinEdits(memberEdits(chat, { set, remove }), sorted(chat.choiceEdits)), more);
}

function sorted(edits: readonly ByteEdit[]): readonly ByteEdit[] {
  return edits.length < 2 ? edits : edits.toSorted((a, b) => a.start - b.start);
}
