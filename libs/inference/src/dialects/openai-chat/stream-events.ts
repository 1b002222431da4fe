import { toEnvelope, type AppError } from '@libs/errors';
import { usageText } from '../openai-usage';
import type { Bill } from '../translation';

export const DONE_EVENT = Buffer.from('data: [DONE]\n\n');

/**
 * An event of our own making, with the members that every `chat.completion.chunk` has. `own` are our `id`,
 * `model` and, once there is one, `provider` as JSON text, `members` what is said in the event, as the inside of an object.
 */
export function chatChunk(own: Readonly<Record<string, string>>, created: string, members: string): Buffer {
  const { id, model, provider } = own;
  const named = provider === undefined ? '' : `"provider":${provider},`;
  return Buffer.from(
    `data: {"id":${id},"object":"chat.completion.chunk","created":${created},"model":${model},${named}${members}}\n\n`,
  );
}

/** The first event of a stream whose caller wants to see what the upstream was sent. */
export function echoChunk(echoedBody: string): string {
  return `"choices":[],"debug":{"echo_upstream_body":${echoedBody}}`;
}

/** The last event before the end of a whole stream. */
export function usageChunk({ usage, cost, tools }: Bill): string {
  return `"choices":[],"usage":${usageText(usage, cost, true, tools)}`;
}

/** The last event before the end of a broken stream (interface §7). */
export function failureChunk(error: AppError, { usage, cost, tools }: Bill): string {
  return (
    `"error":${JSON.stringify(toEnvelope(error).error)},` +
    `"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error","native_finish_reason":null}],` +
    `"usage":${usageText(usage, cost, true, tools)}`
  );
}
