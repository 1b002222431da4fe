import { toEnvelope, type AppError } from '@libs/errors';
import { usageText } from '../openai-usage';
import { dataEvent, frameOf, type AnswerFrame, type FrameEvent } from '../../model/answer-frame';
import type { Bill } from '../translation';

const CHUNK = dataEvent();
const BILLED_CHUNK = dataEvent(null, true);

/**
 * Returns an event made by the gateway, with the fields that every `chat.completion.chunk` has. `own` holds our `id`,
 * `model` and, once it is known, `provider` as JSON text. `members` holds the event's own fields, as the inside of a
 * JSON object.
 */
export function chatChunk(
  own: Readonly<Record<string, string>>,
  created: string,
  members: string,
  isBilled = false,
): AnswerFrame {
  const { id, model, provider } = own;
  const named = provider === undefined ? '' : `"provider":${provider},`;
  const data = `{"id":${id},"object":"chat.completion.chunk","created":${created},"model":${model},${named}${members}}`;
  return frameOf(data, chunkEvent(isBilled));
}

export function chunkEvent(isBilled: boolean): FrameEvent {
  return isBilled ? BILLED_CHUNK : CHUNK;
}

/** An event about a call to a provider, for a caller that asked for it. `debug` is an object as JSON text. */
export function debugChunk(debug: string): string {
  return `"choices":[],"debug":${debug}`;
}

/** Returns the usage event, the last one before `[DONE]` of a complete stream. */
export function usageChunk({ usage, cost, tools }: Bill): string {
  return `"choices":[],"usage":${usageText(usage, cost, true, tools)}`;
}

/** Returns the error event, the last one before `[DONE]` of a broken stream. */
export function failureChunk(error: AppError, { usage, cost, tools }: Bill): string {
  return (
    `"error":${JSON.stringify(toEnvelope(error).error)},` +
    `"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error","native_finish_reason":null}],` +
    `"usage":${usageText(usage, cost, true, tools)}`
  );
}
