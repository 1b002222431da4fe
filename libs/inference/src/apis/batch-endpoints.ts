import type { CallableApi } from '../dialects/dialect-pairs';

/** The API of a batch, by the `endpoint` that it names. */
export const API_OF_BATCH = {
  '/v1/chat/completions': 'chat',
  '/v1/responses': 'responses',
  '/v1/messages': 'messages',
  '/v1/embeddings': 'embeddings',
} as const satisfies Readonly<Record<string, CallableApi>>;

export type BatchEndpoint = keyof typeof API_OF_BATCH;

export function isBatchEndpoint(value: unknown): value is BatchEndpoint {
  return typeof value === 'string' && Object.hasOwn(API_OF_BATCH, value);
}
