const PARTS = `json_to_record(g.details) AS d("providerToolsUsd" numeric, "gatewayToolsUsd" numeric,
  "cacheDiscountUsd" numeric, "upstreamCostUsd" numeric, "tokensUsd" numeric, "uncachedUsd" numeric,
  "providerTools" jsonb, "askedUsd" numeric, asked json, turns json)`;
const sumOf = (tools: string): string => `(SELECT sum(t.usd::numeric) FROM jsonb_each_text(${tools}) AS t(tool, usd))`;

/** Tools that are there, by their names. */
const TOOLS = `concat_ws(' + ', CASE WHEN "providerToolsUsd" IS NOT NULL THEN 'providerToolsUsd' END,
  CASE WHEN "gatewayToolsUsd" IS NOT NULL THEN 'gatewayToolsUsd' END, 'tokensUsd')`;
const WHOLE = `coalesce("upstreamCostUsd", g.cost_usd)`;
const OF_TOOLS = `coalesce("providerToolsUsd", 0) + coalesce("gatewayToolsUsd", 0)`;

/** The sum of all amounts of calls that were made for a call, if its details say what that is. */
const OF_ASKED = `CASE WHEN "askedUsd" IS NOT NULL THEN (
  SELECT coalesce(sum(a."costUsd" + coalesce(${sumOf('a."providerTools"')}, 0)), 0)
  FROM (VALUES (asked), (turns)) AS noted(calls)
  CROSS JOIN LATERAL json_to_recordset(noted.calls) AS a("costUsd" numeric, "providerTools" jsonb)) END`;

/**
 * Differences in the parts of a call's cost, which its details contain: tools and tokens add up to the list price, and
 * the cache discount is what the tokens would have cost without caches minus what they cost. Calls that were settled
 * before tokens were recorded are checked by limits: tools cost between nothing and the whole. The tools and tokens of
 * a batch item add up to its list price.
 *
 * `$1` is the watermark; null: all. Few calls have such parts, so the text is searched before it is parsed.
 */
export const PARTS_SQL = `
  SELECT 'charge' AS kind, g.id, figure, found, expected
  FROM generations g, ${PARTS}
  CROSS JOIN LATERAL (VALUES
    ('details: ' || ${TOOLS}, "tokensUsd" + ${OF_TOOLS}, ${WHOLE}),
    ('details: asked + turns', ${OF_ASKED}, "askedUsd"),
    ('details: providerTools', ${sumOf('"providerTools"')}, "providerToolsUsd"),
    ('details: cacheDiscountUsd', coalesce("cacheDiscountUsd", 0), "uncachedUsd" - "tokensUsd"),
    ('details: providerToolsUsd', "providerToolsUsd",
      CASE WHEN "tokensUsd" IS NULL THEN least(greatest("providerToolsUsd", 0), ${WHOLE}) END),
    ('details: gatewayToolsUsd', "gatewayToolsUsd",
      CASE WHEN "tokensUsd" IS NULL THEN least(greatest("gatewayToolsUsd", 0), ${WHOLE}) END)
  ) AS f(figure, found, expected)
  WHERE g.state = 'settled' AND g.details IS NOT NULL
    AND g.details::text LIKE '%Usd"%'
    AND ($1::bigint IS NULL OR g.written_in >= $1::bigint) AND found <> expected
  UNION ALL
  SELECT 'charge', r.generation_id, 'details: providerTools + tokensUsd', found, expected
  FROM batch_results r
  CROSS JOIN LATERAL (SELECT ${sumOf(`r.usage_details->'providerTools'`)} + (r.usage_details->>'tokensUsd')::numeric
    AS found, r.prompt_cost_usd + r.completion_cost_usd AS expected) f
  WHERE r.usage_details ? 'providerTools'
    AND ($1::bigint IS NULL OR r.written_in >= $1::bigint) AND found <> expected`;
