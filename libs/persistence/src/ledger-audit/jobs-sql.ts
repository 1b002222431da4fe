import { isByok, listUsd } from '../batches/result-price-sql';
import { EMPTIED } from './charges-sql';

/** Matches ids of batches from which ids of lines are made. */
const HAS_LINE_IDS = `b.id ~ '^batch-[0-9]{1,11}-[0-9A-Za-z]{20}$'`;

const RESULTS_OF_ALL = `
  SELECT batch_number AS number, created_on, sum(cost_usd) AS cost, sum(prompt_cost_usd) AS prompt,
    sum(completion_cost_usd) AS completion,
    sum(CASE WHEN ${isByok('batch_results')} THEN ${listUsd('batch_results')} ELSE 0 END) AS byok,
    coalesce(sum(abs(${listUsd('batch_results')} - cost_usd)) FILTER (WHERE NOT is_byok), 0) AS unequal
  FROM batch_results GROUP BY batch_number, created_on`;

const COST_DETAILS = `b.usage->'cost_details'`;
const PROMPT_COST = `(${COST_DETAILS}->>'upstream_inference_prompt_cost')::numeric`;
const COMPLETION_COST = `(${COST_DETAILS}->>'upstream_inference_completions_cost')::numeric`;
const LIST_COST = `(${COST_DETAILS}->>'upstream_inference_cost')::numeric`;

/**
 * `usage` is written once, in doubles. Its parts are the sums of the results; if there are no results, the parts must
 * add up to the list price, which is the cost of a batch on shared capacity.
 */
const USAGE_FIGURES = `
    ('usage.cost', coalesce((b.usage->>'cost')::numeric, 0), coalesce(h.settled_usd, 0), b.finalized_at IS NOT NULL),
    ('usage.cost_details.upstream_inference_prompt_cost', ${PROMPT_COST}, coalesce(r.prompt, 0),
      ${PROMPT_COST} IS NOT NULL AND NOT ${EMPTIED}),
    ('usage.cost_details.upstream_inference_completions_cost', ${COMPLETION_COST}, coalesce(r.completion, 0),
      ${COMPLETION_COST} IS NOT NULL AND NOT ${EMPTIED}),
    ('usage.cost_details.upstream_inference_cost', coalesce(${LIST_COST}, 0), coalesce(r.byok, 0),
      ${PROMPT_COST} IS NOT NULL AND NOT ${EMPTIED}),
    ('usage.cost_details', round(${PROMPT_COST} + ${COMPLETION_COST}, 9),
      round(coalesce(${LIST_COST}, (b.usage->>'cost')::numeric), 9), ${EMPTIED})`;

/**
 * Differences between a batch's hold, its results, its charges and its `usage`. Only charges to the batch's own
 * account, workspace and key count, so one with another owner is found although its result has expired.
 *
 * A full audit (`isFull`) reads all batches. An incremental one reads those that run or ended from `$1` on, and leaves
 * out the sum of the charges, because it has compared each charge with its result.
 */
const batches = (isFull: boolean): string => `
  SELECT 'batch' AS kind, b.id, figure, found, expected
  FROM batches b
  LEFT JOIN ledger_holds h ON h.id = b.id
  ${
    isFull
      ? `LEFT JOIN (${RESULTS_OF_ALL}) r ON r.number = b.number AND r.created_on = b.created_on
         LEFT JOIN (
           SELECT left(reference, -6) AS stem, debit_account, workspace_id, api_key_hash, sum(amount_usd) AS charged
           FROM ledger_transfers
           WHERE kind = 'charge' AND credit_account = 'revenue' AND reference LIKE 'gen-batch-%' GROUP BY 1, 2, 3, 4
         ) c ON ${HAS_LINE_IDS} AND c.stem = 'gen-' || left(b.id, -6)
           AND c.debit_account = 'org:' || b.organization_id AND c.workspace_id = b.workspace_id
           AND c.api_key_hash = b.api_key_hash`
      : `LEFT JOIN LATERAL (${RESULTS_OF_ALL.replace('GROUP BY', 'WHERE batch_number = b.number AND created_on = b.created_on GROUP BY')}) r ON NOT ${EMPTIED}`
  }
  CROSS JOIN LATERAL (VALUES
    ('settled_usd of its hold', coalesce(h.settled_usd, 0), coalesce(r.cost, 0), NOT ${EMPTIED}),
    ('settled_byok_usd of its hold', coalesce(h.settled_byok_usd, 0), coalesce(r.byok, 0), NOT ${EMPTIED}),
    ('costs of results on shared capacity', coalesce(r.unequal, 0), 0, NOT ${EMPTIED}),
    ${isFull ? `('charges of its lines', coalesce(c.charged, 0), coalesce(h.settled_usd, 0), ${HAS_LINE_IDS}),` : ''}
    ${USAGE_FIGURES}
  ) AS f(figure, found, expected, applies)
  WHERE b.status <> 'receiving' AND applies AND CASE WHEN figure LIKE 'usage.%'
      THEN found::float8 <> expected::float8 ELSE found <> expected END
    ${isFull ? '' : 'AND (b.finalized_at IS NULL OR b.finalized_at >= $1::timestamptz)'}`;

/**
 * A video's charge is compared with its generation, as for every call; its prices are compared with its hold, which
 * stores the list price too. An older hold, without that column, proves the list price only if it was the reserved
 * amount or the price. An incremental audit reads open videos and those that ended from `$1` on.
 */
const videos = (isFull: boolean): string => `
  SELECT 'video', v.id, figure, found, expected
  FROM videos v
  LEFT JOIN ledger_holds h ON h.id = v.id
  LEFT JOIN generations g ON g.id = v.id
  CROSS JOIN LATERAL (VALUES
    ('price_usd', v.price_usd, coalesce(h.amount_usd, 0)
      - CASE WHEN h.counts_byok AND v.credential_id IS NOT NULL THEN v.list_price_usd ELSE 0 END),
    ('list_price_usd', v.list_price_usd,
      coalesce(h.list_usd, CASE WHEN v.credential_id IS NULL THEN v.price_usd ELSE v.list_price_usd END)),
    ('cost_usd', coalesce(v.cost_usd, 0), coalesce(g.cost_usd, 0)),
    ('settled_usd of its hold', coalesce(h.settled_usd, 0), coalesce(v.cost_usd, 0)),
    ('settled_byok_usd of its hold', coalesce(h.settled_byok_usd, 0),
      coalesce((g.details->>'upstreamCostUsd')::numeric, 0))
  ) AS f(figure, found, expected)
  WHERE found <> expected ${isFull ? '' : 'AND (v.finished_at IS NULL OR v.finished_at >= $1::timestamptz)'}`;

/** Holds of videos that have no row. Rows of videos are never deleted. */
const lostVideos = (isFull: boolean): string => `
  SELECT 'video', h.id, 'video of its hold', 0, greatest(h.amount_usd, h.settled_usd)
  FROM ledger_holds h LEFT JOIN videos v ON v.id = h.id
  WHERE h.id LIKE 'gen-vid-%' AND v.id IS NULL
    ${isFull ? '' : 'AND (h.resolved_at IS NULL OR h.resolved_at >= $1::timestamptz)'}`;

const jobs = (isFull: boolean): string => [batches, videos, lostVideos].map((sql) => sql(isFull)).join(' UNION ALL ');

export const ALL_JOBS_SQL = jobs(true);
export const RECENT_JOBS_SQL = jobs(false);
