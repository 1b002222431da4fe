import type { Session } from '../database';
import {
  DETAIL_COUNTS,
  ITERATION_COUNTS,
  type DetailCount,
  type IterationCount,
  type LineIteration,
} from './line-usage';
import { isByok, listUsd } from './result-price-sql';

/** Sums over all results of a batch. Amounts are exact decimal strings in US dollars. */
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
  /** The charged amount. */
  readonly costUsd: string;
  /** What providers charged the owners of keys, by their list prices; null if no such key was used. */
  readonly upstreamCostUsd: string | null;
  /** Further counts that providers reported; 0 if none did. */
  readonly details: Readonly<Record<DetailCount, number>>;
  /** The iterations of all lines, added up by type and model. */
  readonly iterations: readonly SummedIteration[];
  /** The tier that all answered lines have in common; null if they differ or one has none. */
  readonly serviceTier: string | null;
  readonly speed: string | null;
}

export type SummedIteration = Pick<LineIteration, 'type' | 'model'> & Readonly<Record<IterationCount, number>>;

/** Most combinations of iteration type and model. There are usually a few; this limits what upstreams can cause. */
const MOST_ITERATIONS = 100;

const detailSums = DETAIL_COUNTS.map((name) => `sum((usage_details->>'${name}')::bigint) AS "${name}"`).join(', ');
const iterationSums = ITERATION_COUNTS.map((name) => `'${name}', coalesce(sum((i->>'${name}')::bigint), 0)`).join(', ');
const common = (value: string): string =>
  `CASE WHEN min(${value} COLLATE "C") = max(${value} COLLATE "C") AND count(${value}) = count(*) FILTER (WHERE error IS NULL)
        THEN min(${value} COLLATE "C") END`;
const RESULTS = 'batch_results WHERE created_on = $1 AND batch_number = $2';

// Iterations are searched only if there are any; otherwise the results are read only once.
const SUM_SQL = `
  SELECT sums.*, CASE WHEN has_iterations THEN (
      SELECT json_agg(summed)::text FROM (
        SELECT json_strip_nulls(json_build_object('type', i->>'type', 'model', i->>'model', ${iterationSums})) AS summed
        FROM (SELECT usage_details FROM ${RESULTS} AND usage_details ? 'iterations') r,
          jsonb_array_elements(r.usage_details->'iterations') i
        GROUP BY i->>'type', i->>'model' ORDER BY sum((i->>'inputTokens')::bigint) DESC NULLS LAST, i->>'type', i->>'model'
        LIMIT ${MOST_ITERATIONS}) by_type
    ) END AS iterations
  FROM (
    SELECT count(*) FILTER (WHERE error IS NULL) AS completed, count(*) FILTER (WHERE error IS NOT NULL) AS failed,
      coalesce(sum(prompt_tokens), 0) AS prompt_tokens, coalesce(sum(completion_tokens), 0) AS completion_tokens,
      coalesce(sum(cached_tokens), 0) AS cached_tokens, coalesce(sum(cache_write_tokens), 0) AS cache_write_tokens,
      coalesce(sum(reasoning_tokens), 0) AS reasoning_tokens, coalesce(sum(prompt_cost_usd), 0)::text AS prompt_cost_usd,
      coalesce(sum(completion_cost_usd), 0)::text AS completion_cost_usd, coalesce(sum(cost_usd), 0)::text AS cost_usd,
      (sum(${listUsd('batch_results')}) FILTER (WHERE ${isByok('batch_results')}))::text AS upstream_cost_usd, ${detailSums}, ${common('service_tier')} AS service_tier,
      ${common(`(usage_details->>'speed')`)} AS speed, bool_or(usage_details ? 'iterations') AS has_iterations
    FROM ${RESULTS}) sums`;

/** Returns the sums over the stored results of a batch. */
export async function sumResults(
  session: Session,
  work: { readonly createdOn: string; readonly number: bigint },
): Promise<BatchTotals> {
  const rows = await session.rows<Record<string, string | null>>({
    sql: SUM_SQL,
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
    upstreamCostUsd: sums['upstream_cost_usd'] ?? null,
    details: Object.fromEntries(DETAIL_COUNTS.map((name) => [name, count(name)])) as BatchTotals['details'],
    iterations: JSON.parse(sums['iterations'] ?? '[]') as SummedIteration[],
    serviceTier: sums['service_tier'] ?? null,
    speed: sums['speed'] ?? null,
  };
}

/** Called once, after the commit, with the problem of a batch that ended without one item per request. */
export type ReportLoss = (problem: string) => void;

/** Returns the error message of a batch that does not have one result per request; null if it has. */
export function resultsLostOf(total: number, { completed, failed }: BatchTotals): string | null {
  const results = completed + failed;
  if (results === total) return null;
  return results < total
    ? `${total - results} of ${total} requests have no result: the service lost them. What the others came to is kept`
    : `The batch has ${results} results for ${total} requests: the service made a mistake`;
}

/** Returns the number of missing lines, for a batch whose unrun requests need no result. */
export async function linesLostOf(
  session: Session,
  { createdOn, number, total }: { readonly createdOn: string; readonly number: bigint; readonly total: number },
): Promise<string | null> {
  const row = await session.firstRow<{ lines: number }>({
    name: 'batch-count-lines',
    sql: `SELECT count(*)::integer AS lines FROM batch_lines
          WHERE created_on = $1 AND batch_number = $2 AND seq BETWEEN 0 AND $3 - 1`,
    values: [createdOn, number, total],
  });
  const lost = total - (row?.lines ?? 0);
  return lost === 0 ? null : `${lost} of ${total} requests are not there: the service lost them`;
}
