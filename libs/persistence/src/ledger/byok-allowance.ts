/**
 * Amount, by list price, that an organization may run with its own keys in a calendar month (UTC) without a fee.
 * Decimal string in US dollars. Null: there is no allowance, and nothing is counted.
 */
export class ByokAllowance {
  readonly freeUsdPerMonth: string | null;

  constructor(freeUsdPerMonth: string | null) {
    this.freeUsdPerMonth = freeUsdPerMonth !== null && /[1-9]/.test(freeUsdPerMonth) ? freeUsdPerMonth : null;
  }
}

export const NO_ALLOWANCE = new ByokAllowance(null);

const THIS_MONTH = `date_trunc('month', now() AT TIME ZONE 'UTC')::date`;

/**
 * Returns SQL for the waived part of fees: common table expressions that end with `waived` (`id`, `waived_usd`).
 * `source` is one with `id`, `organization_id`, `fee_usd` and `list_usd` (above 0). It must contain only calls that
 * this statement certainly charges, so that none is counted twice. `free` is an expression for the allowance.
 *
 * The statement adds its calls to the row of the month, which locks it. The new total shows which part of the allowance
 * they use, so concurrent statements use different parts. Within a statement calls count in the order of their ids. The
 * call that exhausts the allowance pays the fee for the amount beyond it, rounded half up to the pico-dollar. Months
 * are locked before accounts, in the order of the organizations.
 */
export function waiveFees(source: string, free: string): string {
  return `
  byok_total AS (
    SELECT organization_id, sum(list_usd) AS list_usd FROM ${source} GROUP BY organization_id
  ), byok_month AS (
    INSERT INTO ledger_byok_months AS m (organization_id, month, list_usd)
    SELECT organization_id, ${THIS_MONTH}, list_usd FROM byok_total ORDER BY organization_id
    ON CONFLICT (organization_id, month) DO UPDATE SET list_usd = m.list_usd + excluded.list_usd
    RETURNING m.organization_id, m.list_usd
  ), waived AS (
    SELECT id, fee_usd - round(fee_usd * beyond_usd / list_usd, 12) AS waived_usd FROM (
      SELECT s.id, s.fee_usd, s.list_usd, least(s.list_usd, greatest(0,
        m.list_usd - t.list_usd + sum(s.list_usd) OVER (PARTITION BY s.organization_id ORDER BY s.id) - ${free}
      )) AS beyond_usd
      FROM ${source} s
      JOIN byok_month m ON m.organization_id = s.organization_id
      JOIN byok_total t ON t.organization_id = s.organization_id
    ) counted
  )`;
}
