import type { LineOutcome } from '../batches/batch-results.repository';
import type { SegmentLease } from '../batches/batch-segments.repository';

/** A line of a leased segment that its provider answered, at one cent for its prompt and one for the completion. */
export function aLineOutcome(lease: SegmentLease, seq: number, values: Partial<LineOutcome> = {}): LineOutcome {
  return {
    lease,
    seq,
    customId: `line-${seq}`,
    generationId: `gen-${lease.batchNumber}-${seq}`,
    statusCode: 200,
    requestId: null,
    body: Buffer.from('{}'),
    error: null,
    promptTokens: 1,
    completionTokens: 1,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    promptCostUsd: '0.01',
    completionCostUsd: '0.01',
    costUsd: '0.02',
    ...values,
  };
}
