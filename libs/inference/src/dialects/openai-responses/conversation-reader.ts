import { objectsOf, stringOf, type JsonObject } from '@libs/json';
import { AppError } from '@libs/errors';
import type { FilePart, ImagePart, Message, Part, Role, TextPart, ToolResultPart } from '../../model/conversation';
import { bringsTools } from '../../model/provider-tools';
import { argumentsOfText } from '../free-text-tools';
import { readPart, readReasoning } from './content-reader';
import type { ToolNames } from './tool-names';

const ROLES: readonly Role[] = ['system', 'developer', 'user', 'assistant'];

const RESULTS = new Set(['function_call_output', 'custom_tool_call_output']);

/** Context for reading the items of a conversation. */
interface InputReading {
  readonly names: ToolNames;
  /** Collects the names of fields and items that a conversation cannot hold. */
  readonly unread: Set<string>;
}

/**
 * Reads the conversation of a request.
 *
 * One turn of the model consists of several items: thoughts, messages, calls. They become one message, as in other
 * APIs. Names of fields and items that a conversation cannot hold are added to `unread`.
 */
export function readInput(input: unknown, instructions: unknown, reading: InputReading): Message[] {
  const messages: OpenMessage[] = [];
  if (typeof instructions === 'string') messages.push(textMessage('system', instructions));
  if (typeof input === 'string') messages.push(textMessage('user', input));
  // Tools that items define are read together with the request's tools.
  const items = objectsOf(input).filter((item) => !bringsTools(item));
  const orphans = orphanedThoughts(items);
  if (orphans.size > 0) reading.unread.add('input.reasoning');
  for (const item of items) if (!orphans.has(item)) addItem(messages, item, reading);
  return messages;
}

/** Types of items, other than thoughts, that a conversation can hold. */
const SAID = new Set(['message', 'function_call', 'custom_tool_call', ...RESULTS]);

/**
 * Returns the thoughts that led only to items which are left out: a provider refuses a thought without the item that
 * followed it. A thought that also led to a call of a function of the caller is not returned.
 */
function orphanedThoughts(items: readonly JsonObject[]): ReadonlySet<JsonObject> {
  const orphans = new Set<JsonObject>();
  let thoughts: JsonObject[] = [];
  let hasGap = false;
  const endTurn = (isAnswered: boolean): void => {
    if (hasGap && !isAnswered) for (const thought of thoughts) orphans.add(thought);
    thoughts = [];
    hasGap = false;
  };
  for (const item of items) {
    const type = stringOf(item['type']) ?? 'message';
    if (type === 'reasoning') {
      if (hasGap) endTurn(false);
      thoughts.push(item);
    } else if (SAID.has(type)) endTurn(type.endsWith('_call') || item['role'] === 'assistant');
    else hasGap = true;
  }
  endTurn(false);
  return orphans;
}

/** A message to which later items of the same turn are added in place, because one turn may have very many items. */
type OpenMessage = Message & { readonly parts: Part[] };

function textMessage(role: Role, text: string): OpenMessage {
  return { role, parts: [{ type: 'text', text }] };
}

function addItem(messages: OpenMessage[], item: JsonObject, reading: InputReading): void {
  const { unread } = reading;
  const type = stringOf(item['type']) ?? 'message';
  if (type === 'message') addMessage(messages, item, unread);
  else if (type === 'item_reference') throw nothingStored();
  else if (RESULTS.has(type)) messages.push({ role: 'tool', parts: [toolResult(item, unread)] });
  else addToTurn(messages, readSaid(type, item, reading));
}

/** Reads an item that the model produced and that is not a message. */
function readSaid(type: string, item: JsonObject, { names, unread }: InputReading): Part[] {
  if (type === 'function_call') return [toolCall(item, stringOf(item['arguments']) ?? '', names)];
  if (type === 'custom_tool_call') return [toolCall(item, argumentsOfText(stringOf(item['input']) ?? ''), names)];
  if (type === 'reasoning') return [readReasoning(item)];
  unread.add(`input.${type}`);
  return [];
}

function nothingStored(): AppError {
  return new AppError('invalid_request', 'Nothing is stored: input must hold the items themselves', {
    metadata: { param: 'input' },
  });
}

function addMessage(messages: OpenMessage[], item: JsonObject, unread: Set<string>): void {
  const role = ROLES.find((known) => known === item['role']) ?? 'user';
  const parts = readContent(item['content'], unread);
  if (stringOf(item['phase']) !== undefined) unread.add('input.phase');
  if (role === 'assistant') addToTurn(messages, parts);
  else messages.push({ role, parts });
}

function addToTurn(messages: OpenMessage[], parts: Part[]): void {
  if (parts.length === 0) return;
  const last = messages.at(-1);
  if (last?.role !== 'assistant') messages.push({ role: 'assistant', parts });
  else for (const part of parts) last.parts.push(part);
}

function readContent(content: unknown, unread: Set<string>): Part[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return objectsOf(content).flatMap((part) => {
    const read = readPart(part);
    if (read === null) unread.add(`input.content.${stringOf(part['type']) ?? 'type'}`);
    if (objectsOf(part['annotations']).some(({ type }) => type !== 'url_citation')) unread.add('input.annotations');
    return read ?? [];
  });
}

function toolCall(item: JsonObject, args: string, names: ToolNames): Part {
  const name = names.flatName(stringOf(item['name']) ?? '', stringOf(item['namespace']));
  return { type: 'tool-call', id: callIdOf(item), name, arguments: args };
}

function toolResult(item: JsonObject, unread: Set<string>): ToolResultPart {
  const output = readContent(item['output'], unread);
  const parts = output.filter(isResultPart);
  if (parts.length < output.length) unread.add('input.output');
  return { type: 'tool-result', callId: callIdOf(item), parts };
}

function isResultPart(part: Part): part is TextPart | ImagePart | FilePart {
  return part.type === 'text' || part.type === 'image' || part.type === 'file';
}

function callIdOf(item: JsonObject): string {
  return stringOf(item['call_id']) ?? '';
}
