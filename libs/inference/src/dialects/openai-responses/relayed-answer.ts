import {
  type JsonCursor,
  findMember,
  joinEdits,
  memberEdits,
  type ByteEdit,
  type JsonMember,
  type ScannedObject,
} from '@libs/json';
import { tierWord } from '../../catalogue/service-tiers';
import { TextCounter } from '../../model/text-tokens';
import type { FinishReason } from '../../model/finish-reason';
import { ToolCounter, type ToolUses } from '../../pricing/tool-uses';
import type { AnswerContext } from '../dialect';
import type { ReportedUsage } from '../reported-counts';
import { isReportedAt } from '../reported-error';
import { memberText, scanRequest } from '../request-members';
import type { Bill } from '../translation';
import type { ResponseFailure } from './error';
import { isUncharged, isWebSearch, toolIn, type ItemWords } from './item-words';
import { finishOf } from './stop-reason';
import { readResponseUsage, responseUsageEdits, responseUsageText } from './usage';
import { unixSeconds } from '../../model/unix-seconds';

/** Result of scanning an upstream's response object once. */
export interface UpstreamResponse extends ScannedObject {
  readonly id: string | null;
  readonly status: string | null;
  readonly incompleteReason: string | null;
  readonly serviceTier: string | null;
  /** Number of items in `output`; null if that array is missing. */
  readonly outputCount: number | null;
  readonly hasToolCalls: boolean;
  /** Length of text, thoughts and tool arguments in `output`, in units (`UNITS_PER_TOKEN`). */
  readonly contentUnits: number;
  /** Number of web searches that the upstream made, without pages that it opened. */
  readonly webSearches: number;
  /** Number of provider tool calls that are not charged. */
  readonly otherTurns: number;
  /** Other tools that the upstream ran. */
  readonly tools: ToolUses | undefined;
  readonly usage: ReportedUsage | null;
  /** The member `error`, if it reports one: see `isReportedAt`. */
  readonly error: JsonMember | null;
}

const CONTENT = new Set(['text', 'refusal', 'arguments', 'input', 'code']);
const CALLS = new Set(['function_call', 'custom_tool_call']);

/** Reads the response at the cursor and moves past it. Throws MalformedJson. */
export function readUpstreamResponse(cursor: JsonCursor): UpstreamResponse {
  const reader = new ResponseReader(cursor);
  reader.readMembers();
  return reader;
}

class ResponseReader implements UpstreamResponse {
  readonly bytes: Buffer;
  readonly members: JsonMember[] = [];
  closeBrace = 0;
  id: string | null = null;
  status: string | null = null;
  incompleteReason: string | null = null;
  serviceTier: string | null = null;
  outputCount: number | null = null;
  hasToolCalls = false;
  webSearches = 0;
  otherTurns = 0;
  readonly #text = new TextCounter();
  readonly #tools = new ToolCounter();
  usage: ReportedUsage | null = null;
  error: JsonMember | null = null;
  readonly #cursor: JsonCursor;
  #item: ItemWords = {};

  constructor(cursor: JsonCursor) {
    this.#cursor = cursor;
    this.bytes = cursor.bytes;
  }

  get contentUnits(): number {
    return this.#text.units;
  }

  get tools(): ToolUses | undefined {
    return this.#tools.uses;
  }

  readMembers(): void {
    const cursor = this.#cursor;
    cursor.enterObject();
    for (let key = cursor.nextKey(); key !== null; key = cursor.nextKey()) {
      const { keyStart, position: valueStart } = cursor;
      this.#readValue(key);
      const member = { key, keyStart, valueStart, valueEnd: cursor.position };
      this.members.push(member);
      if (key === 'error') this.error = isReportedAt(this, member) ? member : null;
    }
    this.closeBrace = cursor.position - 1;
  }

  #readValue(key: string): void {
    const cursor = this.#cursor;
    if (key === 'id') this.id = cursor.readStringOrNull();
    else if (key === 'status') this.status = cursor.readStringOrNull();
    else if (key === 'service_tier') this.serviceTier = cursor.readStringOrNull();
    else if (key === 'usage') this.usage = readResponseUsage(cursor);
    else if (key === 'incomplete_details') this.#readReason();
    else if (key === 'output') this.#readOutput();
    else cursor.skipValue();
  }

  #readReason(): void {
    const cursor = this.#cursor;
    if (!cursor.isObject()) return cursor.skipValue();
    cursor.readObject((key) => {
      if (key === 'reason') this.incompleteReason = cursor.readStringOrNull();
    });
  }

  #readOutput(): void {
    const cursor = this.#cursor;
    if (!cursor.isArray()) return cursor.skipValue();
    let count = 0;
    cursor.enterArray();
    while (cursor.nextElement()) {
      count += 1;
      this.#item = {};
      this.#readItem('item', 0);
      this.webSearches += Number(isWebSearch(this.#item));
      this.otherTurns += Number(isUncharged(this.#item));
      const tool = toolIn(this.#item);
      if (tool !== null) this.#tools.add(tool);
    }
    this.outputCount = count;
  }

  #readItem(key: string, depth: number): void {
    const cursor = this.#cursor;
    if (cursor.isObject()) {
      cursor.enterObject();
      for (let name = cursor.nextKey(); name !== null; name = cursor.nextKey()) {
        if (name === 'type' && key === 'action' && depth === 1) this.#item.action = cursor.readStringOrNull();
        else this.#readItem(name, depth + 1);
      }
    } else if (cursor.isArray()) {
      cursor.enterArray();
      while (cursor.nextElement()) this.#readItem(key, depth);
    } else {
      this.#readLeaf(key, depth);
    }
  }

  #readLeaf(key: string, depth: number): void {
    if (depth === 1 && this.#readWord(key)) return;
    const cursor = this.#cursor;
    const isContent = CONTENT.has(key) && cursor.isString();
    const start = cursor.position;
    cursor.skipValue();
    if (isContent) this.#text.add(this.bytes, start + 1, cursor.position - 1);
  }

  /** Returns whether the field was one that decides what the item is. */
  #readWord(key: string): boolean {
    const cursor = this.#cursor;
    if (key === 'type') {
      this.#item.type = cursor.readStringOrNull();
      if (CALLS.has(this.#item.type ?? '')) this.hasToolCalls = true;
    } else if (key === 'status') this.#item.status = cursor.readStringOrNull();
    else if (key === 'name') this.#item.name = cursor.readStringOrNull();
    else return false;
    return true;
  }
}

/** Returns why the model stopped; null while the response is running. */
export function finishOfResponse(response: UpstreamResponse): {
  readonly finishReason: FinishReason | null;
  readonly nativeFinishReason: string | null;
} {
  const { status, incompleteReason, hasToolCalls } = response;
  if (status === 'in_progress' || status === 'queued') return { finishReason: null, nativeFinishReason: null };
  return finishOf(status, incompleteReason, hasToolCalls);
}

/** Fields that were sent to the upstream as a hash only; the response shows the caller's own value. */
const HASHED = ['user', 'safety_identifier', 'prompt_cache_key'] as const;

/** Request settings that a response repeats. If the upstream omits one, the caller's value is added. */
const REPEATED: ReadonlySet<string> = new Set([
  'instructions',
  'metadata',
  'parallel_tool_calls',
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'tool_choice',
  'tools',
]);

/** Required fields with their default values, as JSON text, for upstreams that leave them out. */
const REQUIRED = {
  object: '"response"',
  completed_at: 'null',
  error: 'null',
  incomplete_details: 'null',
  instructions: 'null',
  metadata: 'null',
  output: '[]',
  parallel_tool_calls: 'true',
  temperature: 'null',
  top_p: 'null',
  presence_penalty: 'null',
  frequency_penalty: 'null',
  tool_choice: '"auto"',
  tools: '[]',
} as const;
const REQUIRED_NAMES = Object.keys(REQUIRED) as RequiredMember[];

type RequiredMember = keyof typeof REQUIRED;

/** Fields that the gateway writes into an upstream's responses, as JSON text; they are the same in a whole stream. */
export interface OwnResponseMembers {
  /** Fields whose values replace those of the upstream. */
  readonly set: Readonly<Record<string, string>>;
  /** Returns the value of a required field that the upstream omits. */
  readonly absent: (name: RequiredMember) => string;
}

export function ownResponseMembers(context: AnswerContext): OwnResponseMembers {
  const request = scanRequest(context.requestBody);
  return { set: ownWords(context, request), absent: (name) => repeatedFrom(request, name) ?? REQUIRED[name] };
}

function repeatedFrom(request: ScannedObject, name: RequiredMember): string | undefined {
  const text = REPEATED.has(name) ? memberText(request, name)?.toString() : undefined;
  // The data of an event must be on one line. JSON strings contain no line feed.
  return text === 'null' ? undefined : text?.replace(/[\r\n]/g, ' ');
}

function ownWords({ generationId, model }: AnswerContext, request: ScannedObject): Record<string, string> {
  const own: Record<string, string> = {
    id: JSON.stringify(generationId),
    model: JSON.stringify(model.slug),
    store: 'false',
    previous_response_id: 'null',
  };
  for (const name of HASHED) {
    const text = memberText(request, name);
    if (text !== undefined) own[name] = text.toString();
  }
  return own;
}

/** Returns the edits that turn an upstream's response into ours. Without a bill, the usage is removed. */
export function responseEdits(
  response: UpstreamResponse,
  own: OwnResponseMembers,
  bill: Bill | null,
): readonly ByteEdit[] {
  const { serviceTier, usage } = response;
  const set = absentIn(response, own.absent);
  Object.assign(set, own.set);
  if (serviceTier !== null) set['service_tier'] = JSON.stringify(tierWord(serviceTier));
  if (usage !== null) {
    return joinEdits(memberEdits(response, { set }), bill === null ? [] : responseUsageEdits(usage, bill));
  }
  // Before the end of a stream there is no usage; some upstreams write it as null.
  if (bill === null) return memberEdits(response, { set, remove: ['usage'] });
  set['usage'] = responseUsageText(bill);
  return memberEdits(response, { set });
}

function absentIn(response: UpstreamResponse, absent: OwnResponseMembers['absent']): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of REQUIRED_NAMES) if (!findMember(response, name)) found[name] = absent(name);
  if (!findMember(response, 'created_at')) found['created_at'] = String(unixSeconds());
  return found;
}

/** Returns the fields of a response that report a failure, as JSON text. */
export function failureMembers({
  status,
  incompleteReason,
  error,
  errorType,
}: ResponseFailure): Record<string, string> {
  const details = incompleteReason === null ? null : { reason: incompleteReason };
  return {
    status: JSON.stringify(status),
    incomplete_details: JSON.stringify(details),
    error: JSON.stringify(error),
    ...(errorType !== null && { error_type: JSON.stringify(errorType) }),
  };
}
