import { BATCH_RETENTION_DAYS } from './batch-views.repository';
import type { DetailCount } from './line-usage';
import { isByok, listUsd } from './result-price-sql';

/** Batches that are read in one statement; a batch may have half a million lines. */
const PAGE_BATCHES = 20;

// Planner settings: each part is read by the index of its table, because other joins would read tables of all batches.
// Compiling the statement would take longer than reading most pages.
export const PLAN = `SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL enable_seqscan = off;
  SET LOCAL jit = off`;

/** Text that sorts after every id with this beginning, in any collation of the database. */
export const endOfStem = (stem: string): string => `${stem} || 'zzzzzzzz'`;

/** Common beginning of the ids of all results and charges of a batch; null for an id that does not produce any. */
const STEM = `CASE WHEN id ~ '^batch-[0-9]{1,11}-[0-9A-Za-z]{20}$' THEN 'gen-' || left(id, -6) END`;

const IS_OWNED = `t.debit_account = 'org:' || b.organization_id AND t.credit_account = 'revenue'
  AND t.workspace_id = b.workspace_id AND t.api_key_hash = b.api_key_hash`;

const DETAILS: Readonly<Record<DetailCount, string>> = {
  cacheWrite5mTokens: 'cache_creation.ephemeral_5m_input_tokens',
  cacheWrite1hTokens: 'cache_creation.ephemeral_1h_input_tokens',
  audioPromptTokens: 'prompt_tokens_details.audio_tokens',
  videoPromptTokens: 'prompt_tokens_details.video_tokens',
  filePromptTokens: 'prompt_tokens_details.file_tokens',
  audioCompletionTokens: 'completion_tokens_details.audio_tokens',
  imageCompletionTokens: 'completion_tokens_details.image_tokens',
  webSearches: 'server_tool_use.web_search_requests',
  webFetches: 'server_tool_use.web_fetch_requests',
  toolCallsRequested: 'server_tool_use.tool_calls_requested',
  toolCallsExecuted: 'server_tool_use.tool_calls_executed',
};

// A subquery, because a join would compare each result with all lines of the batch: the planner expects only a few
// hundred.
const CUSTOM_ID_OF_LINE = `(SELECT l.custom_id FROM batch_lines l
  WHERE l.created_on = r.created_on AND l.batch_number = r.batch_number AND l.seq = r.seq)`;

/** The figures of `usage`, each with the expression that it is the sum of. */
const SUMS: Readonly<Record<string, string>> = {
  prompt_tokens: 'r.prompt_tokens',
  completion_tokens: 'r.completion_tokens',
  total_tokens: 'r.prompt_tokens + r.completion_tokens',
  'prompt_tokens_details.cached_tokens': 'r.cached_tokens',
  'prompt_tokens_details.cache_write_tokens': 'r.cache_write_tokens',
  'completion_tokens_details.reasoning_tokens': 'r.reasoning_tokens',
  'cost_details.upstream_inference_prompt_cost': 'r.prompt_cost_usd',
  'cost_details.upstream_inference_completions_cost': 'r.completion_cost_usd',
  ...Object.fromEntries(Object.entries(DETAILS).map(([name, path]) => [path, `(r.usage_details->>'${name}')::bigint`])),
};
const USAGE_SUMS = `json_build_object(
  ${Object.entries(SUMS)
    .map(([path, value]) => `'${path}', coalesce(sum(${value}), 0)`)
    .join(', ')},
  'cost_details.upstream_inference_cost', sum(${listUsd('r')}) FILTER (WHERE ${isByok('r')}))`;

/**
 * Figures of the 20 batches after the number `$1` that were accepted at or after `$2`.
 *
 * Reads the index entries of all lines, and all results and charges of these batches without their bodies. Each result
 * costs two more lookups by primary key: its charge and its line.
 */
export const FIGURES_SQL = `
  SELECT b.id, b.number, b.status, b.total, b.completed, b.failed, b.ends_as AS "endsAs", b.usage,
    (b.usage->>'cost')::float8 AS "usageCost", b.is_emptied AS "isEmptied",
    l.lines, l.first AS "firstSeq", l.last AS "lastSeq",
    r.answered, r.refused, r.stray AS "strayResults", r.cost::text AS "resultsUsd", r.usage_sums AS "usageSums",
    r.mischarged, greatest(r.misowned, c.misowned) AS "misownedCharges", c.charges - r.charges AS "strayCharges",
    s.segments, s.is_whole AS "areSegmentsWhole", s.miscounted AS "miscountedSegments",
    h.state AS "holdState", coalesce(h.settled_usd, 0)::text AS "settledUsd",
    coalesce(h.settled_usd, 0) = r.cost AS "isSettledAsResults",
    c.usd::text AS "chargedUsd", b.stem IS NULL OR coalesce(h.settled_usd, 0) = c.usd AS "isSettledAsCharges"
  FROM (
    SELECT *, deleted_at IS NOT NULL OR created_at <= now() - interval '${BATCH_RETENTION_DAYS} days' AS is_emptied,
      ${STEM} AS stem
    FROM batches WHERE number > $1 AND status <> 'receiving' AND created_at >= $2
    ORDER BY number LIMIT ${PAGE_BATCHES}
  ) b
  LEFT JOIN ledger_holds h ON h.id = b.id
  CROSS JOIN LATERAL (
    SELECT count(*)::integer AS lines, min(seq) AS first, max(seq) AS last
    FROM batch_lines WHERE created_on = b.created_on AND batch_number = b.number
  ) l
  CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE r.error IS NULL)::integer AS answered,
      count(*) FILTER (WHERE r.error IS NOT NULL)::integer AS refused,
      count(*) FILTER (WHERE ${CUSTOM_ID_OF_LINE} IS DISTINCT FROM r.custom_id)::integer AS stray, coalesce(sum(r.cost_usd), 0) AS cost,
      ${USAGE_SUMS} AS usage_sums,
      count(*) FILTER (WHERE r.cost_usd <> coalesce(t.amount_usd, 0))::integer AS mischarged,
      count(*) FILTER (WHERE t.reference IS NOT NULL AND (${IS_OWNED}) IS NOT TRUE)::integer AS misowned,
      count(DISTINCT t.reference) FILTER (WHERE left(t.reference, length(b.stem)) = b.stem)::integer AS charges
    FROM batch_results r
    LEFT JOIN ledger_transfers t ON t.reference = r.generation_id AND t.kind = 'charge'
    WHERE r.created_on = b.created_on AND r.batch_number = b.number
  ) r
  CROSS JOIN LATERAL (
    SELECT count(*)::integer AS charges, coalesce(sum(t.amount_usd), 0) AS usd,
      count(*) FILTER (WHERE (${IS_OWNED}) IS NOT TRUE)::integer AS misowned
    FROM ledger_transfers t
    WHERE t.kind = 'charge' AND t.reference BETWEEN b.stem AND ${endOfStem('b.stem')}
      AND left(t.reference, length(b.stem)) = b.stem
  ) c
  CROSS JOIN LATERAL (
    SELECT count(*)::integer AS segments,
      coalesce(bool_and(first_seq = next_seq AND last_seq >= first_seq) AND max(last_seq) = b.total - 1, false) AS is_whole,
      count(*) FILTER (WHERE counted <> results)::integer AS miscounted
    FROM (
      SELECT s.first_seq, s.last_seq, s.completed + s.failed AS counted,
        coalesce(lag(s.last_seq) OVER (ORDER BY s.number) + 1, 0) AS next_seq,
        (SELECT count(*) FROM batch_results o WHERE o.created_on = b.created_on AND o.batch_number = b.number
           AND o.seq BETWEEN s.first_seq AND s.last_seq) AS results
      FROM batch_segments s WHERE s.batch_number = b.number
    ) segment
  ) s
  ORDER BY b.number`;
