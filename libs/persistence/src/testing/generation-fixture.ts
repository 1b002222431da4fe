import { randomUUID } from 'node:crypto';
import type { GenerationOpening, GenerationSettlement } from '../generations/generation-records';

/** A chat about to be made by a key without a limit, for an organization of its own unless one is given. */
export function anOpening(values: Partial<GenerationOpening> = {}): GenerationOpening {
  return {
    id: `gen-1-${randomUUID()}`,
    createdOn: new Date().toISOString().slice(0, 10),
    organizationId: randomUUID(),
    workspaceId: randomUUID(),
    apiKeyHash: 'b'.repeat(64),
    api: 'chat',
    model: 'vendor/model',
    streamed: false,
    holdUsd: '1',
    keyLimit: null,
    ...values,
  };
}

/** The settlement of an opened chat: one prompt token, one completion token, and the given cost in US dollars. */
export function aSettlement(
  { holdUsd: _held, keyLimit: _limit, budgets: _budgets, ...opening }: GenerationOpening,
  costUsd: string,
  values: Partial<GenerationSettlement> = {},
): GenerationSettlement {
  return {
    ...opening,
    provider: 'vendor',
    upstreamModel: 'model',
    upstreamId: null,
    statusCode: 200,
    outcome: 'completed',
    finishReason: 'stop',
    usageProvenance: 'upstream',
    promptTokens: 1,
    completionTokens: 1,
    cachedTokens: 0,
    reasoningTokens: 0,
    costUsd,
    latencyMs: 5,
    generationMs: 9,
    details: { attempts: [] },
    ...values,
  };
}
