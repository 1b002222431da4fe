import { RETENTION_DAYS } from '../batches/batch-views.repository';

/** Charges and sources are summed in so many groups, so that single rows are compared only in those that differ. */
const BUCKETS = 4_096;
/** So many references are looked up one by one in an incremental audit; more are counted. */
export const MOST_CANDIDATES = 10_000;

/** A batch whose results its owner or the retention may have removed: its charges are compared as a sum. */
export const EMPTIED = `(b.deleted_at IS NOT NULL OR b.created_at <= now() - interval '${RETENTION_DAYS} days')`;

/** A line's id is made of its batch's id: all but the last six characters, which count the lines. */
const IS_EMPTIED = `t.reference LIKE 'gen-batch-%' AND left(t.reference, -6) IN (
  SELECT 'gen-' || left(b.id, -6) FROM batches b WHERE ${EMPTIED})`;

const charges = (condition: string): string => `
  SELECT t.reference, t.amount_usd AS usd, t.debit_account AS debit, t.credit_account AS credit, t.workspace_id,
         t.api_key_hash
  FROM ledger_transfers t WHERE t.kind = 'charge' AND ${condition}`;

const calls = (condition: string): string => `
  SELECT g.id AS reference, g.cost_usd AS usd, 'org:' || g.organization_id AS debit, 'revenue' AS credit,
         g.workspace_id, g.api_key_hash
  FROM generations g WHERE g.state = 'settled' AND g.cost_usd <> 0 AND ${condition}`;

const results = (condition: string): string => `
  SELECT r.generation_id, r.cost_usd, 'org:' || b.organization_id, 'revenue', b.workspace_id, b.api_key_hash
  FROM batch_results r JOIN batches b ON b.number = r.batch_number AND b.created_on = r.created_on
  WHERE r.cost_usd <> 0 AND NOT ${EMPTIED} AND ${condition}`;

const bucket = (reference: string): string => `hashtext(${reference}) & ${BUCKETS - 1}`;

const summed = (rows: string): string => `
  SELECT ${bucket('reference')} AS bucket, count(*) AS n, sum(usd) AS usd,
         bit_xor(hash_record_extended(ROW(reference, usd, debit, credit, workspace_id, api_key_hash), 0)) AS hash
  FROM (${rows}) rows GROUP BY 1`;

/** The groups in which charges and sources differ, as rows of `bucket`. Both sides are read once, in any order. */
export const BUCKETS_SQL = `
  SELECT bucket FROM (${summed(charges(`NOT (${IS_EMPTIED})`))}) c
  FULL JOIN (${summed(`${calls('true')} UNION ALL ${results('true')}`)}) s USING (bucket)
  WHERE c.n IS DISTINCT FROM s.n OR c.usd IS DISTINCT FROM s.usd OR c.hash IS DISTINCT FROM s.hash`;

const DIFFERS = `c.usd IS DISTINCT FROM s.usd OR c.debit IS DISTINCT FROM s.debit OR c.credit IS DISTINCT FROM s.credit
  OR c.workspace_id IS DISTINCT FROM s.workspace_id OR c.api_key_hash IS DISTINCT FROM s.api_key_hash`;

const differences = (chargeRows: string, sourceRows: string): string => `
  SELECT 'charge' AS kind, coalesce(c.reference, s.reference, 'a result without a generation id') AS id,
         CASE WHEN c.reference IS NULL THEN 'source without charge' WHEN s.reference IS NULL THEN 'charge without source'
              WHEN c.usd <> s.usd THEN 'amount_usd' ELSE 'owner' END AS figure,
         coalesce(c.usd, 0) AS found, coalesce(s.usd, 0) AS expected
  FROM (${chargeRows}) c FULL JOIN (${sourceRows}) s ON s.reference = c.reference
  WHERE ${DIFFERS}`;

/** Differences in the groups of `$1`. */
export const CHARGES_SQL = differences(
  charges(`${bucket('t.reference')} = ANY($1::integer[]) AND NOT (${IS_EMPTIED})`),
  `${calls(`${bucket('g.id')} = ANY($1::integer[])`)}
   UNION ALL ${results(`${bucket('r.generation_id')} = ANY($1::integer[])`)}`,
);

/**
 * References of charges and sources written from transaction `$1` on that have no equal. Both are written by one
 * transaction, so an equal that is missing here is missing or was written by an older release, which the lookup tells.
 */
export const CANDIDATES_SQL = `
  SELECT id, count(*) OVER ()::integer AS count FROM (${differences(
    charges('t.written_in >= $1::bigint'),
    `${calls('g.written_in >= $1::bigint')} UNION ALL ${results('r.written_in >= $1::bigint')}`,
  )}) d ORDER BY id LIMIT ${MOST_CANDIDATES}`;

/** Differences of the references `$1`, whenever they were written. */
export const LOOKUP_SQL = differences(
  charges(`t.reference = ANY($1::text[]) AND NOT (${IS_EMPTIED})`),
  `${calls('g.id = ANY($1::text[])')}
   UNION ALL ${results(`r.generation_id = ANY($1::text[]) AND b.number = ANY (ARRAY(
     SELECT o.number FROM batches o WHERE 'gen-' || left(o.id, -6) = ANY (ARRAY(SELECT left(x, -6) FROM unnest($1::text[]) x))))`)}`,
);
