import { JsonCursor, MalformedJson, parseJson, type ByteEdit, type JsonMember, type ScannedObject } from '@libs/json';
import type { AppError } from '@libs/errors';
import type { Provider } from '../../catalogue/catalogue';
import { toolOfType } from '../../model/provider-tools';
import { TextCounter } from '../../model/text-tokens';
import { ToolCounter, type ProviderTool, type ToolUses } from '../../pricing/tool-uses';
import { brokenAnswer, errorInside, readComplaintAt, type UpstreamComplaint } from '../../wire/upstream-error';
import { blockEdits } from './required-members';

/** Result of scanning an upstream's message once. */
export interface UpstreamMessage extends ScannedObject {
  readonly id: string | null;
  readonly stopReason: string | null;
  /** Whether there is an array `content`. */
  readonly hasContent: boolean;
  /** Whether the model calls functions. */
  readonly hasCalls: boolean;
  /** Length of text, thoughts and tool inputs, in units (`UNITS_PER_TOKEN`). */
  readonly contentUnits: number;
  /** Tools that the upstream ran; null: none. */
  readonly tools: ToolUses | null;
  /** Edits that add missing required fields to the content blocks. */
  readonly contentEdits: readonly ByteEdit[];
}

/** Fields of blocks and deltas whose text a model wrote. */
const WRITTEN = new Set(['text', 'thinking', 'partial_json', 'input']);

/** Reads the message at the cursor and moves past it. Throws MalformedJson. */
export function readUpstreamMessage(cursor: JsonCursor): UpstreamMessage {
  const members: JsonMember[] = [];
  const contentEdits: ByteEdit[] = [];
  const counter = new ToolCounter();
  const text = new TextCounter();
  const found = { id: null as string | null, stopReason: null as string | null, hasContent: false, hasCalls: false };
  cursor.readObject((key, keyStart) => {
    const valueStart = cursor.position;
    if (key === 'id') found.id = cursor.readStringOrNull();
    else if (key === 'stop_reason') found.stopReason = cursor.readStringOrNull();
    else if (key === 'content') {
      found.hasContent = cursor.isArray();
      const reading = {
        edits: contentEdits,
        text,
        onTool: (tool: ProviderTool) => counter.add(tool),
        onCall: () => (found.hasCalls = true),
      };
      if (found.hasContent) cursor.readArray(() => readBlock(cursor, reading));
      else cursor.skipValue();
    } else cursor.skipValue();
    members.push({ key, keyStart, valueStart, valueEnd: cursor.position });
  });
  const tools = counter.uses ?? null;
  const closeBrace = cursor.position - 1;
  return { ...found, bytes: cursor.bytes, members, closeBrace, contentUnits: text.units, tools, contentEdits };
}

/** State that reading a block adds to. */
export interface BlockReading {
  /** Gets the fields that the block lacks. */
  readonly edits: ByteEdit[];
  /** Counts what a model wrote. */
  readonly text: TextCounter;
  /** Called for each block in which the model calls a provider tool. */
  readonly onTool: (tool: ProviderTool) => void;
  /** Called for each block in which the model calls a function. */
  readonly onCall?: () => void;
  /** Called for each block that holds a compaction: the summary that replaces the context. */
  readonly onCompaction?: () => void;
}

/** Reads the block at the cursor. */
export function readBlock(cursor: JsonCursor, { edits, text, onTool, onCall, onCompaction }: BlockReading): void {
  if (!cursor.isObject()) return cursor.skipValue();
  const members: JsonMember[] = [];
  let type: string | null = null;
  let name: string | null = null;
  cursor.readObject((key, keyStart) => {
    const valueStart = cursor.position;
    if (key === 'type') type = cursor.readStringOrNull();
    else if (key === 'name') name = cursor.readStringOrNull();
    else countWrittenIn(key, cursor, text);
    members.push({ key, keyStart, valueStart, valueEnd: cursor.position });
  });
  const tool = toolOfBlock(type, name);
  if (tool !== null) onTool(tool);
  if (type === 'tool_use') onCall?.();
  if (type === 'compaction') onCompaction?.();
  edits.push(...blockEdits({ bytes: cursor.bytes, members, closeBrace: cursor.position - 1 }, type));
}

/** Returns the provider tool that a content block is a call of; null for other blocks. */
export function toolOfBlock(type: string | null, name: string | null): ProviderTool | null {
  if (type === 'mcp_tool_use') return 'mcp';
  return type === 'server_tool_use' && name !== null ? toolOfType(name) : null;
}

/** Adds the text of the delta at the cursor that the model wrote to the count. */
export function countWritten(cursor: JsonCursor, text: TextCounter): void {
  if (cursor.isObject()) cursor.readObject((key) => countWrittenIn(key, cursor, text));
  else cursor.skipValue();
}

function countWrittenIn(key: string, cursor: JsonCursor, text: TextCounter): void {
  const quote = cursor.isString() ? 1 : 0;
  const start = cursor.position;
  cursor.skipValue();
  if (WRITTEN.has(key)) text.add(cursor.bytes, start + quote, cursor.position - quote);
}

/** Returns the value of the field at the cursor. Throws MalformedJson if it is not valid JSON. */
export function valueOf({ bytes }: ScannedObject, { valueStart, valueEnd }: JsonMember): unknown {
  return parseJson(bytes.subarray(valueStart, valueEnd));
}

/** Runs `read`. @throws AppError provider_unavailable if the text is not JSON */
export function readOrRefuse<T>(provider: Provider, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof MalformedJson) throw brokenAnswer(provider, 'the answer is not JSON', thrown);
    throw thrown;
  }
}

/** HTTP statuses for errors that arrive inside a 200, where only the error type says what went wrong. */
const STATUS_BY_TYPE: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};

/** Returns the error inside a 200 or an event. */
export function errorAt(provider: Provider, { bytes }: ScannedObject, { valueStart }: JsonMember): AppError {
  return errorInside(provider, withStatus(readComplaintAt(new JsonCursor(bytes, valueStart), 0)));
}

/** Returns the error details of a parsed value. */
export function complaintOf(error: unknown): UpstreamComplaint {
  const text = Buffer.from(JSON.stringify(error) ?? 'null');
  return withStatus(readComplaintAt(new JsonCursor(text), 0));
}

function withStatus(complaint: UpstreamComplaint): UpstreamComplaint {
  const { code } = complaint;
  if (code === null || !Object.hasOwn(STATUS_BY_TYPE, code)) return complaint;
  return { ...complaint, status: STATUS_BY_TYPE[code]! };
}
