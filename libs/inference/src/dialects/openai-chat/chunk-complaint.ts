import {
  JsonCursor,
  findMember,
  isObject,
  scanMembersAt,
  stringOf,
  type JsonMember,
  type JsonObject,
} from '@libs/json';
import { readComplaint, readComplaintAt, type UpstreamComplaint } from '../../wire/upstream-error';
import { isReported } from '../reported-error';
import type { ChatObject } from './relayed-answer';

const ERROR_WORD = 'error';

/**
 * Returns the error that a chunk of a stream reports, or null. Besides the field `error` it may be in `x_groq` (Groq),
 * in an event of this name, or be the chunk itself (vLLM).
 */
export function complaintInChunk(chat: ChatObject, name: string | null): UpstreamComplaint | null {
  const { bytes } = chat;
  const member = chat.error ?? errorOfGroq(chat);
  if (member !== null) return readComplaintAt(new JsonCursor(bytes, member.valueStart), 0);
  const hasContent = chat.choiceCount !== null || chat.usage !== null;
  return name === ERROR_WORD || (!hasContent && isErrorObject(chat)) ? readComplaint(bytes) : null;
}

function errorOfGroq(chat: ChatObject): JsonMember | null {
  const groq = findMember(chat, 'x_groq');
  const cursor = groq && new JsonCursor(chat.bytes, groq.valueStart);
  const error = cursor?.isObject() ? findMember(scanMembersAt(cursor), 'error') : undefined;
  // A text of two bytes is "".
  const isText = error !== undefined && new JsonCursor(chat.bytes, error.valueStart).isString();
  return isText && error.valueEnd - error.valueStart > 2 ? error : null;
}

function isErrorObject(chat: ChatObject): boolean {
  const object = findMember(chat, 'object');
  return object !== undefined && chat.bytes.toString('utf8', object.valueStart + 1, object.valueEnd - 1) === ERROR_WORD;
}

/** Returns whether a chunk reports an error, in any of the ways of `complaintInChunk`. */
export function reportsError(chunk: JsonObject, name: string | null): boolean {
  const { error, x_groq: groq, object } = chunk;
  return (
    isReported(error) || name === ERROR_WORD || object === ERROR_WORD || (isObject(groq) && !!stringOf(groq['error']))
  );
}
