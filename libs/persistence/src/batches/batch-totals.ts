import type { Session } from '../database';

/** Sums over all results of a batch. Money as exact decimal strings in US dollars. */
export interface BatchTotals {
  readonly completed: number;
  readonly failed: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
  readonly reasoningTokens: number;
  readonly promptCostUsd: string;
  readonly completionCostUsd: string;
  /** What was charged. */
  readonly costUsd: string;
  /** What providers charged owners of keys, by their list prices; null where no such key was used. */
  readonly upstreamCostUsd: string | null;
}

/** What the stored results of a batch come to. */
export async function sumResults(
  session: Session,
  work: { readonly createdOn: string; readonly number: bigint },
): Promise<BatchTotals> {
  const rows = await session.rows<Record<string, string>>({
    sql: `
      SELECT count(*) FILTER (WHERE error IS NULL) AS completed, count(*) FILTER (WHERE error IS NOT NULL) AS failed,
        coalesce(sum(prompt_tokens), 0) AS prompt_tokens, coalesce(sum(completion_tokens), 0) AS completion_tokens,
        coalesce(sum(cached_tokens), 0) AS cached_tokens, coalesce(sum(cache_write_tokens), 0) AS cache_write_tokens,
        coalesce(sum(reasoning_tokens), 0) AS reasoning_tokens, coalesce(sum(prompt_cost_usd), 0)::text AS prompt_cost_usd,
        coalesce(sum(completion_cost_usd), 0)::text AS completion_cost_usd, coalesce(sum(cost_usd), 0)::text AS cost_usd,
        (sum(prompt_cost_usd + completion_cost_usd) FILTER (WHERE prompt_cost_usd + completion_cost_usd <> cost_usd)
        )::text AS upstream_cost_usd
      FROM batch_results WHERE created_on = $1 AND batch_number = $2`,
    values: [work.createdOn, work.number],
  });
  const sums = rows[0] ?? {};
  const count = (name: string): number => Number(sums[name] ?? 0);
  const money = (name: string): string => sums[name] ?? '0';
  return {
    completed: count('completed'),
    failed: count('failed'),
    promptTokens: count('prompt_tokens'),
    completionTokens: count('completion_tokens'),
    cachedTokens: count('cached_tokens'),
    cacheWriteTokens: count('cache_write_tokens'),
    reasoningTokens: count('reasoning_tokens'),
    promptCostUsd: money('prompt_cost_usd'),
    completionCostUsd: money('completion_cost_usd'),
    costUsd: money('cost_usd'),
    // The parts of a cost are the list price; what is charged differs from it on keys of callers' own only.
    upstreamCostUsd: sums['upstream_cost_usd'] ?? null,
  };
}
