import { defined } from '@libs/json';
import type { FilePart, ImagePart, Message, Part, Role, TextPart, ToolCallPart } from '../../model/conversation';
import { CheckedObject } from '../checked-object';
import { argumentsOfText } from '../free-text-tools';
import { readCacheMark, readContent, readImage } from './content-reader';
import { isThought, readThoughts, toReasoningParts } from './reasoning';

const ROLES: readonly Role[] = ['system', 'developer', 'user', 'assistant', 'tool'];
const RESULT_PARTS = ['text', 'image', 'file'];

/** Reads the conversation. Names of fields that it cannot hold are added to `unread`. */
export function readMessages(body: CheckedObject, unread: Set<string>): Message[] {
  if (!body.has('messages')) throw body.refuse('messages', 'is required');
  return body.objects('messages').map((message) => readMessage(message, unread));
}

function readMessage(message: CheckedObject, unread: Set<string>): Message {
  const role = message.oneOf('role', ROLES);
  if (role === undefined) throw message.refuse('role', 'is required');
  const name = message.string('name');
  if (role === 'tool') return defined({ role, parts: [readToolResult(message, unread)], name });
  if (role === 'assistant') return defined({ role, parts: readAssistant(message, unread), name });
  if (!message.has('content')) throw message.refuse('content', 'is required');
  return defined({ role, parts: readContent(message, 'content', unread), name });
}

function readToolResult(message: CheckedObject, unread: Set<string>): Part {
  const callId = message.requiredString('tool_call_id');
  const parts = readContent(message, 'content', unread);
  const results = parts.filter((part): part is TextPart | ImagePart | FilePart => RESULT_PARTS.includes(part.type));
  if (results.length < parts.length) throw message.refuse('content', 'may hold text, images and files only');
  return defined({ type: 'tool-result' as const, callId, parts: results, cache: readCacheMark(message) });
}

function readAssistant(message: CheckedObject, unread: Set<string>): Part[] {
  for (const name of ['audio', 'annotations']) if (message.has(name)) unread.add(`messages.${name}`);
  if (message.has('function_call')) unread.add('messages.function_call');
  const refusal = message.string('refusal');
  return [
    ...readReasoning(message, unread),
    // Callers send an empty text with tool calls; some upstreams refuse it, so it is left out.
    ...(message.value('content') === '' ? [] : readContent(message, 'content', unread)),
    ...(refusal ? [{ type: 'refusal' as const, text: refusal }] : []),
    ...message.objects('images').map(readImage),
    ...message.objects('tool_calls').map(readToolCall),
  ];
}

function readReasoning(message: CheckedObject, unread: Set<string>): Part[] {
  const details = message.objects('reasoning_details');
  if (!details.every(({ members }) => isThought(members))) unread.add('messages.reasoning_details');
  return toReasoningParts(readThoughts(message.members));
}

function readToolCall(call: CheckedObject): ToolCallPart {
  const id = call.requiredString('id');
  if (call.value('type') === 'custom') {
    const custom = call.requiredObject('custom');
    const text = argumentsOfText(custom.string('input') ?? '');
    return { type: 'tool-call', id, name: custom.requiredString('name'), arguments: text };
  }
  if (call.has('type') && call.value('type') !== 'function') throw call.refuse('type', 'must be function or custom');
  const { name, text } = readFunction(call.requiredObject('function'));
  return { type: 'tool-call', id, name, arguments: text };
}

function readFunction(called: CheckedObject): { name: string; text: string } {
  return { name: called.requiredString('name'), text: called.string('arguments') ?? '' };
}
