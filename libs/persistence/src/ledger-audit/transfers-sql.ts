import { MOVED } from './charges-sql';

/**
 * Differences in top-ups and refunds. A top-up moves money from `funding` to an organization. A refund moves it from
 * `revenue` back to the account of the charge with its reference, and is not larger than that charge.
 *
 * Reads nothing if `movedSql` saw no refund and no top-up between other accounts. `$1` is the watermark; null: all.
 */
export const TRANSFERS_SQL = `
  SELECT 'transfer' AS kind, t.reference AS id, figure, t.amount_usd AS found, expected
  FROM ledger_transfers t
  LEFT JOIN ledger_transfers c ON c.reference = t.reference AND c.kind = 'charge' AND t.kind = 'refund'
  CROSS JOIN LATERAL (VALUES
    ('accounts of a top-up', t.amount_usd, t.kind = 'top_up' AND NOT ${isTopUp('t')}),
    ('refund without charge', 0, t.kind = 'refund' AND c.reference IS NULL),
    ('accounts of a refund', t.amount_usd,
      t.kind = 'refund' AND (t.debit_account <> 'revenue' OR t.credit_account <> c.debit_account)),
    ('refund above its charge', c.amount_usd, t.amount_usd > c.amount_usd)
  ) AS f(figure, expected, applies)
  WHERE applies AND t.kind <> 'charge' AND ($1::bigint IS NULL OR t.written_in >= $1::bigint)
    AND EXISTS (SELECT FROM ${MOVED} m WHERE m.kind = 'refund' OR m.kind = 'top_up' AND NOT ${isTopUp('m')})`;

function isTopUp(row: string): string {
  return `(${row}.debit_account = 'funding' AND ${row}.credit_account LIKE 'org:%')`;
}
