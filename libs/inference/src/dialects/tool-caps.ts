import {
  JsonCursor,
  findMember,
  memberEdits,
  scanMembersAt,
  applyEdits,
  type ScannedObject,
  parseJson,
  objectOf,
  type JsonObject,
} from '@libs/json';
import { capsOfTool, defaultUsesOf, mostToolCalls, type ToolCaps } from '../model/allowed-uses';
import type { LossLog } from '../model/loss-report';
import { MORE_TOOLS, providerToolsIn, toolOfType } from '../model/provider-tools';
import { memberText } from './request-members';

/**
 * Caps on provider tools. They are sent with requests on the operator's account, so that the tools cannot cost more
 * than was reserved. Requests with a caller's own key get no caps, because the key's owner pays the provider.
 */
export interface ToolCapSettings {
  readonly isOwnKey: boolean;
  readonly log?: LossLog | undefined;
}

const MAX_TOOL_CALLS = 'max_tool_calls';
const CONDITIONS = 'stop_server_tools_when';
/** Bytes that an `input` with tools must contain: the type of a tool, or the escapes with which it can be written. */
const LATER_TOOLS = [...MORE_TOOLS, '\\u005', '\\u006', '\\u007'].map((mark) => Buffer.from(mark));

/** If a Responses request asks for provider tools, adds a cap for them to `set`. */
export function capToolCalls(
  request: ScannedObject,
  set: Record<string, string | Buffer>,
  { isOwnKey, log }: ToolCapSettings,
): void {
  if (isOwnKey) return;
  const body = { tools: providerEntries(request), input: laterInput(request), ...capsAsked(request) };
  if (providerToolsIn(body).length === 0) return;
  const cap = mostToolCalls(body);
  const asked = body[MAX_TOOL_CALLS];
  if (typeof asked === 'number' && asked > cap) log?.approximate(MAX_TOOL_CALLS);
  if (asked !== cap) set[MAX_TOOL_CALLS] = String(cap);
}

function capsAsked(request: ScannedObject): Readonly<Record<typeof MAX_TOOL_CALLS | typeof CONDITIONS, unknown>> {
  const valueOf = (name: string): unknown => {
    const text = memberText(request, name);
    return text === undefined ? undefined : parseJson(text);
  };
  return { [MAX_TOOL_CALLS]: valueOf(MAX_TOOL_CALLS), [CONDITIONS]: valueOf(CONDITIONS) };
}

/** Returns `input` if it may contain tools; otherwise undefined. */
function laterInput(request: ScannedObject): unknown {
  const input = memberText(request, 'input');
  if (input === undefined || !new JsonCursor(input).isArray()) return undefined;
  return LATER_TOOLS.some((mark) => input.includes(mark)) ? parseJson(input) : undefined;
}

function providerEntries(request: ScannedObject): readonly JsonObject[] {
  const text = memberText(request, 'tools');
  return text === undefined ? [] : providerToolsOf(text).map(valueOfEntry);
}

/** Returns the `tools` of a Messages request with caps; undefined if no cap is needed. */
export function cappedTools(request: ScannedObject, { isOwnKey, log }: ToolCapSettings): Buffer | undefined {
  const text = isOwnKey ? undefined : memberText(request, 'tools');
  if (text === undefined) return undefined;
  const entries = providerToolsOf(text).map((entry) => ({ entry, asked: valueOfEntry(entry) }));
  const byDefault = defaultUsesOf(providerToolsIn({ tools: entries.map(({ asked }) => asked) }));
  const edits = entries.flatMap(({ entry, asked }) => {
    const set = missingCaps(entry, asked, capsOfTool(asked, byDefault), log);
    return Object.keys(set).length === 0 ? [] : memberEdits(entry, { set });
  });
  return edits.length === 0 ? undefined : applyEdits(text, edits);
}

/**
 * Returns caps as JSON texts. Sets a cap again that the request names twice, so that no provider can use the other
 * value.
 */
function missingCaps(
  { members }: ScannedObject,
  asked: JsonObject,
  caps: ToolCaps,
  log?: LossLog,
): Record<string, string> {
  const set: Record<string, string> = {};
  for (const [name, cap] of Object.entries(caps)) {
    const value = asked[name];
    if (typeof value === 'number' && value > cap) log?.approximate(`tools.${name}`);
    if (value !== cap || members.filter(({ key }) => key === name).length > 1) set[name] = String(cap);
  }
  return set;
}

function valueOfEntry({ bytes, members, closeBrace }: ScannedObject): JsonObject {
  if (members.length === 0) return {};
  return objectOf(parseJson(Buffer.from(`{${bytes.toString('utf8', members[0]!.keyStart, closeBrace)}}`)));
}

/** Returns the tools of a list that a provider runs. Skips functions, which may have long schemas. */
function providerToolsOf(text: Buffer): readonly ScannedObject[] {
  const cursor = new JsonCursor(text);
  if (!cursor.isArray()) return [];
  const found: ScannedObject[] = [];
  cursor.readArray(() => {
    if (!cursor.isObject()) return cursor.skipValue();
    const entry = scanMembersAt(cursor);
    if (isOfProvider(entry)) found.push(entry);
  });
  return found;
}

function isOfProvider(entry: ScannedObject): boolean {
  const member = findMember(entry, 'type');
  if (member === undefined) return false;
  const type = parseJson(entry.bytes.subarray(member.valueStart, member.valueEnd));
  return typeof type === 'string' && toolOfType(type) !== null;
}
