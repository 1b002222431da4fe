import { createHash } from 'node:crypto';
import { defined, objectOf, objectsOf, stringOf, type JsonObject } from '@libs/json';
import type { LossLog } from '../../model/loss-report';

const CALL_ID = /^[A-Za-z0-9]{9}$/;
const CALL_ID_LENGTH = 9;
/** Put between a tool result and a user message, which may not follow each other. */
const PAUSE: JsonObject = { role: 'assistant', content: '.' };

/** OpenAI's messages as the upstream takes them. */
export function rewriteMessages(messages: unknown, log: LossLog): readonly JsonObject[] {
  const written: JsonObject[] = [];
  for (const message of inOrder(objectsOf(messages), log)) {
    if (message['role'] === 'user' && written.at(-1)?.['role'] === 'tool') {
      log.approximate('messages');
      written.push(PAUSE);
    }
    written.push(rewrite(message, log));
  }
  return withPrefix(written);
}

/**
 * Orders system messages. They may follow a system or user message and may not be last. Other system messages move to
 * the start. A conversation that has only system messages becomes user messages.
 */
function inOrder(messages: readonly JsonObject[], log: LossLog): readonly JsonObject[] {
  const start = messages.findIndex(({ role }) => role !== 'system');
  if (start === -1) return asQuestion(messages, log);
  const end = messages.findLastIndex(({ role }) => role !== 'system');
  const late: JsonObject[] = [];
  const rest: JsonObject[] = [];
  /** Role of the last message that is not a system message. */
  let speaker: unknown = null;
  for (const [index, message] of messages.entries()) {
    const isSystem = message['role'] === 'system';
    if (!isSystem) speaker = message['role'];
    const isLate = isSystem && index > start && (index > end || speaker !== 'user');
    (isLate ? late : rest).push(message);
  }
  if (late.length === 0) return messages;
  log.approximate('messages.role');
  return [...rest.slice(0, start), ...late, ...rest.slice(start)];
}

function asQuestion(messages: readonly JsonObject[], log: LossLog): readonly JsonObject[] {
  if (messages.length > 0) log.approximate('messages.role');
  return messages.map((message) => ({ ...message, role: 'user' }));
}

/** Marks a last assistant message as the prefix of the answer, as the upstream requires. */
function withPrefix(messages: readonly JsonObject[]): readonly JsonObject[] {
  const last = messages.at(-1);
  if (last?.['role'] !== 'assistant' || last['tool_calls'] !== undefined) return messages;
  return [...messages.slice(0, -1), { ...last, prefix: true }];
}

function rewrite(message: JsonObject, log: LossLog): JsonObject {
  const { name, ...rest } = message;
  if (message['role'] === 'tool') {
    return { ...message, tool_call_id: toCallId(stringOf(message['tool_call_id']) ?? '') };
  }
  if (name !== undefined) log.drop('name');
  if (message['role'] === 'assistant') return rewriteAssistant(rest, log);
  return { ...rest, content: rewriteContent(message['content'], log) };
}

function rewriteAssistant(message: JsonObject, log: LossLog): JsonObject {
  const { content, refusal, reasoning_content: thoughts, tool_calls: calls, ...rest } = message;
  if (refusal !== undefined) log.approximate('refusal');
  const parts = [...partsOf(rewriteContent(content, log)), ...partsOf(refusal)];
  const thought = stringOf(thoughts);
  const thinking = thought ? [{ type: 'thinking', thinking: [{ type: 'text', text: thought }], closed: true }] : [];
  const isPlain = refusal === undefined && thinking.length === 0;
  return defined({
    ...rest,
    content: isPlain ? rewriteContent(content, log) : [...thinking, ...parts],
    tool_calls:
      calls === undefined
        ? undefined
        : objectsOf(calls).map((call) => ({ ...call, id: toCallId(stringOf(call['id']) ?? '') })),
  });
}

function partsOf(content: unknown): readonly unknown[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return Array.isArray(content) ? content : [];
}

function rewriteContent(content: unknown, log: LossLog): unknown {
  if (!Array.isArray(content)) return content;
  return objectsOf(content).flatMap((part) => rewritePart(part, log) ?? []);
}

function rewritePart(part: JsonObject, log: LossLog): JsonObject | null {
  switch (part['type']) {
    case 'image_url':
      return rewriteImage(part, log);
    case 'file':
      return rewriteFile(objectOf(part['file']), log);
    case 'input_audio':
      return { type: 'input_audio', input_audio: objectOf(part['input_audio'])['data'] };
    case 'video_url':
      log.drop('messages.video');
      return null;
    default:
      return part;
  }
}

function rewriteImage(part: JsonObject, log: LossLog): JsonObject {
  const image = objectOf(part['image_url']);
  if (image['detail'] !== 'original') return part;
  log.approximate('detail');
  return { ...part, image_url: { ...image, detail: 'high' } };
}

const LINK = /^(?:https?:\/\/|data:)/i;

/** Rewrites a file as an id of a file that the upstream stores, or as a document with a link or data URL. */
function rewriteFile({ file_id: id, file_data: data, filename }: JsonObject, log: LossLog): JsonObject | null {
  if (id !== undefined) return { type: 'file', file_id: id };
  const link = stringOf(data) ?? '';
  if (link === '') {
    log.drop('messages.file');
    return null;
  }
  const url = LINK.test(link) ? link : `data:application/pdf;base64,${link}`;
  return defined({ type: 'document_url', document_url: url, document_name: filename });
}

/**
 * Returns the id of a tool call in the form that the upstream accepts. Ids of other providers are replaced by a hash,
 * which is the same for the call and its result.
 */
export function toCallId(id: string): string {
  if (CALL_ID.test(id)) return id;
  const hash = BigInt(`0x${createHash('sha256').update(id).digest('hex')}`).toString(36);
  return hash.padStart(CALL_ID_LENGTH, '0').slice(-CALL_ID_LENGTH);
}
