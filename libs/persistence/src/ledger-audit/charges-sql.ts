import { BATCH_RETENTION_DAYS } from '../batches/batch-views.repository';

/** Temporary tables of one transaction, which several comparisons read. */
export const MOVED = 'audit_moved';
export const CALLS = 'audit_calls';

/** Most references that an incremental audit looks up one by one; further ones are only counted. */
export const MOST_CANDIDATES = 10_000;

/** A batch whose results were removed by its owner or after the retention time: its charges are compared as a sum. */
export const EMPTIED = `(b.deleted_at IS NOT NULL OR b.created_at <= now() - interval '${BATCH_RETENTION_DAYS} days')`;

/** The id of a line is the id of its batch, except for the last six characters, which count the lines. */
export const IS_EMPTIED = `(t.reference LIKE 'gen-batch-%' AND left(t.reference, -6) IN (
  SELECT 'gen-' || left(b.id, -6) FROM batches b WHERE ${EMPTIED}))`;

export const rowHash = (reference: string, usd: string): string =>
  `hashtextextended(${reference}, hash_numeric_extended(${usd}, 0))`;

const charges = (condition: string): string => `
  SELECT t.reference, t.amount_usd AS usd, t.debit_account AS debit, t.credit_account AS credit, t.workspace_id,
         t.api_key_hash, 1::bigint AS copy
  FROM ledger_transfers t WHERE t.kind = 'charge' AND ${condition}`;

const calls = (condition: string): string => `
  SELECT g.id AS reference, g.cost_usd AS usd, 'org:' || g.organization_id AS debit, 'revenue' AS credit,
         g.workspace_id, g.api_key_hash
  FROM generations g WHERE g.cost_usd <> 0 AND ${condition}`;

const results = (condition: string): string => `
  SELECT r.generation_id, r.cost_usd, 'org:' || b.organization_id, 'revenue', b.workspace_id, b.api_key_hash
  FROM batch_results r JOIN batches b ON b.number = r.batch_number AND b.created_on = r.created_on
  WHERE r.cost_usd <> 0 AND NOT ${EMPTIED} AND ${condition}`;

/** The owner whose charges are first compared as a sum. */
const owner = (debit: string, row: string, credit: string): string =>
  `concat_ws('/', ${debit}, coalesce(${row}.workspace_id::text, '-'), coalesce(${row}.api_key_hash, '-'), ${credit})`;

const OWNER_OF_CHARGE = owner('t.debit_account', 't', 't.credit_account');
const OWNER_OF_CALL = owner(`'org:' || g.organization_id`, 'g', `'revenue'`);
const OWNER_OF_RESULT = owner(`'org:' || b.organization_id`, 'b', `'revenue'`);

/**
 * Owners whose charges differ from their sources in number, sum, or a hash over references and amounts. Runs after
 * `movedSql(null, …)` and SUM_CALLS_SQL, which read both once; no rows are joined for this.
 */
export const OWNERS_SQL = `
  SELECT name FROM (
    SELECT ${owner('m.debit_account', 'm', 'm.credit_account')} AS name,
           sum(transfers - gone) AS n, sum(amount_usd - gone_usd) AS usd, bit_xor(hash) AS hash
    FROM ${MOVED} m WHERE kind = 'charge' AND transfers > gone GROUP BY 1
  ) c
  FULL JOIN (
    SELECT name, sum(n) AS n, sum(usd) AS usd, bit_xor(hash) AS hash FROM (
      SELECT ${owner('k.account_id', 'k', `'revenue'`)} AS name, charges AS n, cost_usd AS usd, hash
      FROM ${CALLS} k WHERE charges > 0
      UNION ALL
      SELECT ${OWNER_OF_RESULT}, n, usd, hash FROM (
        SELECT batch_number, created_on, count(*) AS n, sum(cost_usd) AS usd,
               bit_xor(${rowHash('generation_id', 'cost_usd')}) AS hash
        FROM batch_results WHERE cost_usd <> 0 GROUP BY 1, 2
      ) r JOIN batches b ON b.number = r.batch_number AND b.created_on = r.created_on
      WHERE NOT ${EMPTIED}
    ) source GROUP BY name
  ) s USING (name)
  WHERE c.n IS DISTINCT FROM s.n OR c.usd IS DISTINCT FROM s.usd OR c.hash IS DISTINCT FROM s.hash`;

const DIFFERS = `c.usd IS DISTINCT FROM s.usd OR c.debit IS DISTINCT FROM s.debit OR c.credit IS DISTINCT FROM s.credit
  OR c.workspace_id IS DISTINCT FROM s.workspace_id OR c.api_key_hash IS DISTINCT FROM s.api_key_hash`;

/** A reference has one source. A second one, such as the row of a call on another day, has no charge. */
const numbered = (sourceRows: string): string => `
  SELECT s.*, row_number() OVER (PARTITION BY s.reference) AS copy FROM (${sourceRows}) s`;

const differences = (chargeRows: string, sourceRows: string): string => `
  SELECT 'charge' AS kind, coalesce(c.reference, s.reference, 'a result without a generation id') AS id,
         CASE WHEN c.reference IS NULL THEN 'source without charge' WHEN s.reference IS NULL THEN 'charge without source'
              WHEN c.usd <> s.usd THEN 'amount_usd' ELSE 'owner' END AS figure,
         coalesce(c.usd, 0) AS found, coalesce(s.usd, 0) AS expected
  FROM (${chargeRows}) c FULL JOIN (${numbered(sourceRows)}) s ON s.reference = c.reference AND s.copy = c.copy
  WHERE ${DIFFERS}`;

/** Differences in the rows of the owners `$1`. */
export const CHARGES_SQL = differences(
  charges(`${OWNER_OF_CHARGE} = ANY($1::text[]) AND NOT ${IS_EMPTIED}`),
  `${calls(`${OWNER_OF_CALL} = ANY($1::text[])`)}
   UNION ALL ${results(`${OWNER_OF_RESULT} = ANY($1::text[])`)}`,
);

/**
 * Rows that are read separately. A merge join would read all charges in the order of their key to find the new ones.
 */
const readAlone = (rows: string): string => `WITH alone AS MATERIALIZED (${rows}) SELECT * FROM alone`;

/**
 * References of charges and sources written from transaction `$1` on that have no counterpart. One transaction writes
 * both, so a counterpart that is not found here either does not exist or was written by an older release; a lookup by
 * id decides. Charges of emptied batches are left out: they have no counterpart and would use up the limit.
 */
export const CANDIDATES_SQL = `
  SELECT id, count(*) OVER ()::integer AS count FROM (${differences(
    readAlone(charges(`t.written_in >= $1::bigint AND NOT ${IS_EMPTIED}`)),
    readAlone(`${calls('g.written_in >= $1::bigint')} UNION ALL ${results('r.written_in >= $1::bigint')}`),
  )}) d ORDER BY id LIMIT ${MOST_CANDIDATES}`;

/** Differences of the references `$1`, whenever they were written. */
export const LOOKUP_SQL = differences(
  charges(`t.reference = ANY($1::text[]) AND NOT ${IS_EMPTIED}`),
  `${calls('g.id = ANY($1::text[])')}
   UNION ALL ${results(`r.generation_id = ANY($1::text[]) AND b.number = ANY (ARRAY(
     SELECT o.number FROM batches o WHERE 'gen-' || left(o.id, -6) = ANY (ARRAY(SELECT left(x, -6) FROM unnest($1::text[]) x))))`)}`,
);
