import { CALLS } from './charges-sql';

const PERIODS = ['day', 'week', 'month'] as const;

/** No transaction takes an hour, so only charges of the last hour before a period may count in it. */
export const isLate = (at: string): string => `extract(hour FROM ${at} AT TIME ZONE 'UTC') = 23`;

/**
 * Charges by the day on which keys and workspaces count them: a call when it is settled, a batch or video when its hold
 * is resolved.
 */
const SPENT_DAYS = `
  SELECT api_key_hash, workspace_id, day, direct_usd AS usd, byok, late_usd, late_byok FROM ${CALLS}
  UNION ALL
  SELECT api_key_hash, workspace_id, (resolved_at AT TIME ZONE 'UTC')::date, settled_usd, settled_byok_usd,
         CASE WHEN ${isLate('resolved_at')} THEN settled_usd ELSE 0 END,
         CASE WHEN ${isLate('resolved_at')} THEN settled_byok_usd ELSE 0 END
  FROM ledger_holds WHERE state = 'resolved'`;

const start = (period: string): string => `date_trunc('${period}', s.spent_on)::date`;

function sums(period: string): string {
  const sum = (column: string, days: string): string => `coalesce(sum(${column}) FILTER (WHERE ${days}), 0)`;
  const [within, before] = [`d.day >= ${start(period)}`, `d.day = ${start(period)} - 1`];
  return `${sum('d.usd', within)} AS ${period}_least, ${sum('d.late_usd', before)} AS ${period}_late,
          ${sum('d.byok', within)} AS byok_${period}_least, ${sum('d.late_byok', before)} AS byok_${period}_late`;
}

/** A figure may be anything between the charges within its period and these plus the late ones before it. */
function figure(name: string): string {
  const [found, least, most] = [`${name}_usd`, `${name}_least`, `${name}_least + ${name}_late`];
  return `('${found}', ${found}, least(greatest(${found}, ${least}), ${most}))`;
}

const periods = (kind: 'key' | 'workspace', table: string, id: string): string => `
  SELECT '${kind}', ${id}::text, figure, found, expected
  FROM (
    SELECT s.*, ${PERIODS.map(sums).join(', ')}
    FROM ${table} s LEFT JOIN (${SPENT_DAYS}) d ON d.${id} = s.${id}
      AND d.day >= least(${start('week')}, ${start('month')}) - 1
    GROUP BY s.${id}
  ) spent
  CROSS JOIN LATERAL (VALUES
    ${PERIODS.flatMap((period) => [figure(period), figure(`byok_${period}`)]).join(', ')}
  ) AS f(figure, found, expected)
  WHERE found <> expected`;

/**
 * Months with more than what own providers charged in them. Less is not a difference: calls count only since there is
 * an allowance. Jobs count in the months of their lines, so a whole job may count in any month in which its hold was
 * open.
 */
const BYOK_MONTHS = `
  SELECT 'account', m.account_id, 'list_usd of ' || m.month, m.list_usd, least(m.list_usd, coalesce(sum(s.usd), 0))
  FROM (SELECT 'org:' || organization_id AS account_id, month, list_usd FROM ledger_byok_months) m
  LEFT JOIN (
    SELECT account_id, day AS first_day, day AS last_day, byok AS usd FROM ${CALLS} WHERE byok <> 0
    UNION ALL
    SELECT account_id, day + 1, day + 1, late_byok FROM ${CALLS}
    WHERE late_byok <> 0 AND extract(day FROM day + 1) = 1
    UNION ALL
    SELECT account_id, (created_at AT TIME ZONE 'UTC')::date,
           (coalesce(resolved_at, now()) AT TIME ZONE 'UTC')::date, settled_byok_usd
    FROM ledger_holds WHERE settled_byok_usd <> 0
  ) s ON s.account_id = m.account_id AND s.first_day < m.month + interval '1 month' AND s.last_day >= m.month
  GROUP BY m.account_id, m.month, m.list_usd
  HAVING m.list_usd > coalesce(sum(s.usd), 0)`;

/** Differences in what keys and workspaces spent in the periods of their last charge; runs after SUM_CALLS_SQL. */
export const PERIODS_SQL = `
  ${periods('key', 'ledger_keys', 'api_key_hash')}
  UNION ALL ${periods('workspace', 'ledger_workspaces', 'workspace_id')}
  UNION ALL ${BYOK_MONTHS}`;
