import type { AppError } from '@libs/errors';
import { emptyUsage } from '../pricing/usage';
import { eventOf } from './anthropic-messages/relayed-stream';
import { messageErrorBody } from './anthropic-messages';
import { chatChunk, DONE_EVENT, failureChunk } from './openai-chat/stream-events';
import type { StreamableApi } from './dialect-pairs';
import { EventSink } from './openai-responses/stream-events';
import { failureOf } from './openai-responses/error';
import { nowSeconds, readEcho, responseObject } from './openai-responses/response-object';
import { responseUsageObject } from './openai-responses/usage';
import type { Bill } from './translation';

/** A streamed call that no provider answered. */
export interface UnansweredCall {
  readonly generationId: string;
  readonly requestId: string;
  readonly requestBody: Buffer;
  /** Slug of the model that was asked last. */
  readonly model: string;
  /** Name of the provider that was asked last; null if none was. */
  readonly provider: string | null;
  /** Members to stand beside the error. Left out of a 500. */
  readonly beside: Readonly<Record<string, unknown>>;
}

const NOTHING_USED: Bill = {
  usage: emptyUsage('estimated'),
  cost: { totalCost: 0n, promptCost: 0n, completionCost: 0n },
};

/** Returns all events of a stream that failed before its first, in the caller's dialect. */
export function failureEvents(api: StreamableApi, call: UnansweredCall, error: AppError): Buffer {
  const beside = error.status === 500 ? {} : call.beside;
  switch (api) {
    case 'chat':
      return chatFailure(call, error, beside);
    case 'responses':
      return responseFailure(call, error, beside);
    case 'messages':
      return eventOf('error', JSON.stringify({ ...messageErrorBody(error, call.requestId), ...beside }));
  }
}

function chatFailure({ generationId, model, provider }: UnansweredCall, error: AppError, beside: object): Buffer {
  const own = {
    id: JSON.stringify(generationId),
    model: JSON.stringify(model),
    ...(provider !== null && { provider: JSON.stringify(provider) }),
  };
  const more = Object.entries(beside).map(([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`);
  const members = failureChunk(error, NOTHING_USED) + more.join('');
  return Buffer.concat([chatChunk(own, String(nowSeconds()), members), DONE_EVENT]);
}

function responseFailure({ model, ...call }: UnansweredCall, error: AppError, beside: object): Buffer {
  const echo = readEcho({ ...call, model: { slug: model } }, null);
  const failure = failureOf(error);
  const { status } = failure;
  const begun = responseObject(echo, { status: 'in_progress', output: [] });
  const failed = responseObject(echo, { status, failure, output: [], usage: responseUsageObject(NOTHING_USED) });
  const sink = new EventSink();
  sink.emit('response.created', { response: begun });
  sink.emit('response.in_progress', { response: begun });
  sink.emit(`response.${status}`, { response: { ...failed, ...beside } });
  return Buffer.concat([...sink.take(), DONE_EVENT]);
}
