import { isByok } from '../batches/result-price-sql';

/**
 * Records of calls with the operator's own key at one provider: $1 is its slug, $2 and $3 the first and last day, $4 a
 * JSON array of `{ model, from }`, the prompt tokens from which a model has prices for long prompts.
 *
 * All kinds of work are summed here, so that a day of any size returns one row for each model and price.
 */
const COUNTS = `
  sum(requests)::text AS requests,
  count(*) FILTER (WHERE is_estimated)::text AS estimated,
  sum(prompt_tokens)::text AS "promptTokens", sum(cached_tokens)::text AS "cachedTokens",
  sum(cache_write_tokens)::text AS "cacheWriteTokens", sum(cache_write_1h_tokens)::text AS "cacheWrite1hTokens",
  sum(completion_tokens)::text AS "completionTokens", sum(cost_usd)::text AS "costUsd",
  sum(tools_usd)::text AS "toolsUsd",
  max(prompt_tokens) FILTER (WHERE requests = 1)::text AS "longestPrompt",
  max(completion_tokens) FILTER (WHERE requests = 1)::text AS "longestCompletion"`;

/**
 * A call of several turns at one place counts as many requests as its answered attempts. Its tokens are the sums of its turns: if
 * the sum is not long, no turn had a long prompt; otherwise it is unknown which one had.
 */
const CALLS = `
  SELECT g.created_on AS day, g.upstream_model AS model, coalesce(noted."serviceTier", 'standard') AS tier,
         false AS is_batch, g.prompt_tokens, g.cached_tokens, g.completion_tokens,
         coalesce(noted."cacheWriteTokens", 0) AS cache_write_tokens,
         coalesce(noted."cacheWrite1hTokens", 0) AS cache_write_1h_tokens,
         g.cost_usd - coalesce(noted."gatewayToolsUsd", 0) AS cost_usd,
         coalesce(noted."providerToolsUsd", 0) AS tools_usd, noted."providerTools" AS tools,
         g.usage_provenance IS DISTINCT FROM 'upstream' AS is_estimated,
         greatest(1, (SELECT count(*) FROM json_to_recordset(noted.attempts) AS a(provider text, status integer)
                      WHERE a.provider = g.provider AND a.status < 400)) AS requests
  FROM generations g,
       json_to_record(coalesce(g.details, '{}')) AS noted("serviceTier" text, "isByok" boolean, attempts json,
         "cacheWriteTokens" bigint, "cacheWrite1hTokens" bigint, "gatewayToolsUsd" numeric, "providerToolsUsd" numeric,
         "providerTools" jsonb, turns json)
  WHERE noted.turns IS NULL AND g.provider = $1 AND g.created_on BETWEEN $2::date AND $3::date AND g.state = 'settled'
    AND noted."isByok" IS NOT TRUE`;

const sumOfTools = (tools: string): string =>
  `(SELECT sum(t.usd::numeric) FROM jsonb_each_text(${tools}) AS t(tool, usd))`;

/**
 * Calls to models that plugins and gateway tools made for other calls, and the turns of loops that ran at several
 * places. Few calls have any, so that is looked up first.
 */
const ASKED = `
  SELECT g.created_on AS day, a.model, coalesce(a."serviceTier", 'standard') AS tier, false AS is_batch,
         a."promptTokens" AS prompt_tokens, coalesce(a."cachedTokens", 0) AS cached_tokens,
         a."completionTokens" AS completion_tokens, coalesce(a."cacheWriteTokens", 0) AS cache_write_tokens,
         coalesce(a."cacheWrite1hTokens", 0) AS cache_write_1h_tokens, a."costUsd" AS cost_usd,
         coalesce(${sumOfTools('a."providerTools"')}, 0) AS tools_usd, a."providerTools" AS tools,
         coalesce(a."isEstimated", false) AS is_estimated, 1::bigint AS requests
  FROM generations g
  CROSS JOIN LATERAL (VALUES (g.details->'asked'), (g.details->'turns')) AS noted(calls)
  CROSS JOIN LATERAL json_to_recordset(noted.calls) AS a(provider text, model text, "promptTokens" bigint,
    "cachedTokens" bigint, "cacheWriteTokens" bigint, "cacheWrite1hTokens" bigint, "completionTokens" bigint,
    "serviceTier" text, "costUsd" numeric, "providerTools" jsonb, "isEstimated" boolean)
  WHERE g.created_on BETWEEN $2::date AND $3::date AND g.state = 'settled'
    AND (g.details::text LIKE '%"asked"%' OR g.details::text LIKE '%"turns"%') AND a.provider = $1`;

/**
 * Each line stores whether an order at the provider ran it, or the gateway as a single call because the order was taken
 * back; rows from before that column count as run by their order. A line of an order counts on the day of the order, a
 * single call on the day on which it was charged. A line without an answer that was charged was cancelled.
 *
 * Each line also stores whose key ran it: the key with which the batch was accepted may have been refused or deleted
 * since, or another been added. In rows from before that column the cost shows it, unless it is 0.
 */
const LINES = `
  SELECT (coalesce(n.submitted_at, t.created_at, b.in_progress_at, b.created_at) AT TIME ZONE 'UTC')::date AS day,
         b.upstream_model AS model, coalesce(r.service_tier, 'standard') AS tier, n.reference IS NOT NULL AS is_batch,
         r.prompt_tokens, r.cached_tokens, r.completion_tokens, r.cache_write_tokens,
         coalesce((r.usage_details->>'cacheWrite1hTokens')::bigint, 0) AS cache_write_1h_tokens, r.cost_usd,
         coalesce(${sumOfTools(`r.usage_details->'providerTools'`)}, 0) AS tools_usd, r.usage_details->'providerTools' AS tools, r.body IS NULL AS is_estimated, 1::bigint AS requests
  FROM batches b
  JOIN batch_results r ON r.created_on = b.created_on AND r.batch_number = b.number
    AND (r.body IS NOT NULL OR r.cost_usd > 0)
  LEFT JOIN native_batches n ON n.batch_number = b.number AND n.upstream_id IS NOT NULL
    AND r.seq BETWEEN n.first_seq AND n.last_seq AND r.is_native IS NOT FALSE
  LEFT JOIN ledger_transfers t ON t.reference = r.generation_id AND t.kind = 'charge' AND n.reference IS NULL
  WHERE b.provider = $1 AND NOT ${isByok('r')}
    AND (r.cost_usd > 0 OR b.credential_id IS NULL OR r.is_byok IS NOT NULL)
    AND b.created_on BETWEEN $2::date - 2 AND $3::date`;

const VIDEOS = `
  SELECT (v.created_at AT TIME ZONE 'UTC')::date AS day, v.upstream_model AS model, 'standard' AS tier,
         false AS is_batch, 0::bigint AS prompt_tokens, 0::bigint AS cached_tokens, 0::bigint AS completion_tokens,
         0::bigint AS cache_write_tokens, 0::bigint AS cache_write_1h_tokens, v.cost_usd, 0::numeric AS tools_usd,
         NULL::jsonb AS tools, false AS is_estimated, 1::bigint AS requests
  FROM videos v
  WHERE v.provider = $1 AND v.credential_id IS NULL AND v.status = 'completed' AND v.cost_usd IS NOT NULL
    AND v.created_at >= $2::date::timestamp AT TIME ZONE 'UTC'
    AND v.created_at < ($3::date + 1)::timestamp AT TIME ZONE 'UTC'`;

export const RECORDED_SQL = `
  WITH work AS (${CALLS} UNION ALL ${ASKED} UNION ALL ${LINES} UNION ALL ${VIDEOS}),
  long AS (SELECT model, "from" FROM json_to_recordset($4) AS t(model text, "from" bigint))
  SELECT work.day::text AS day, work.model, tier, is_batch AS "isBatch",
         CASE WHEN coalesce(prompt_tokens < long."from", true) THEN false WHEN requests = 1 THEN true END AS "isLong",
         ${COUNTS}
  FROM work LEFT JOIN long ON long.model = work.model
  WHERE work.day BETWEEN $2::date AND $3::date
  GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5`;

/**
 * The cost of each tool that the provider ran. The tool is null for calls of a release that recorded only the sum of
 * all tools. Few calls have tools, so their details are searched before they are parsed.
 */
export const TOOLS_SQL = `
  WITH work AS (${CALLS} AND g.details::text LIKE '%"providerToolsUsd"%' UNION ALL ${ASKED} UNION ALL ${LINES})
  SELECT work.day::text AS day, work.model, used.tool, sum(used.usd)::text AS "costUsd"
  FROM work CROSS JOIN LATERAL (
    SELECT t.tool, t.usd::numeric AS usd FROM jsonb_each_text(work.tools) AS t(tool, usd)
    UNION ALL SELECT NULL, work.tools_usd WHERE work.tools IS NULL
  ) used
  WHERE work.day BETWEEN $2::date AND $3::date AND used.usd <> 0
  GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`;

/** By the model's name in the catalogue, under which attempts are recorded. */
export const FAILED_SQL = `
  SELECT g.created_on::text AS day, a.model, count(*)::text AS count
  FROM generations g, json_to_recordset(g.details->'attempts')
    AS a(model text, provider text, status integer, "isByok" boolean)
  WHERE g.created_on BETWEEN $2::date AND $3::date AND a.provider = $1 AND a."isByok" IS NOT TRUE
    AND (a.status = 408 OR a.status >= 500)
  GROUP BY 1, 2 ORDER BY 1, 2`;

/** By the requested model: it is unknown which provider was called when the gateway died. */
export const ABANDONED_SQL = `
  SELECT created_on::text AS day, model, count(*)::text AS count FROM generations
  WHERE created_on BETWEEN $1::date AND $2::date AND state = 'abandoned' GROUP BY 1, 2 ORDER BY 1, 2`;

/**
 * By the provider's name of the model. An order that was sent and considered lost may have run, as well as the one sent
 * after it; one that was cancelled may have run before.
 */
export const ORPHANS_SQL = `
  SELECT (submitted_at AT TIME ZONE 'UTC')::date::text AS day, upstream_model AS model,
         sum(coalesce(sent_lines, last_seq - first_seq + 1) * (losses + (cancelled_at IS NOT NULL)::integer))::text
           AS count
  FROM native_batches
  WHERE provider = $1 AND credential_id IS NULL AND (losses > 0 OR cancelled_at IS NOT NULL)
    AND submitted_at >= $2::date::timestamp AT TIME ZONE 'UTC'
    AND submitted_at < ($3::date + 1)::timestamp AT TIME ZONE 'UTC'
  GROUP BY 1, 2 ORDER BY 1, 2`;
