/** The spending limit of a key or a workspace, as known to the process that reserves money. */
export interface SpendingLimit {
  /** Exact decimal in US dollars. */
  readonly amountUsd: string;
  /** The limit restarts at 00:00 UTC: every day, every Monday, or on the first of the month; null: never. */
  readonly reset: 'daily' | 'weekly' | 'monthly' | null;
  /** True if charges of the owner's own providers count too. */
  readonly includesByok: boolean;
}

export type KeyLimit = SpendingLimit;

export const TODAY = `(now() AT TIME ZONE 'UTC')::date`;

/**
 * SQL for what is left of a limit: null if there is none. `key` is the alias of the row of `ledger_keys` or
 * `ledger_workspaces`; the others are expressions for the fields of a SpendingLimit. It reads only that row, so a
 * statement that had to wait for the row uses its new values.
 */
export function leftOfLimit(key: string, limit: { amount: string; reset: string; includesByok: string }): string {
  const period = (column: string): string =>
    `${key}.${column}_usd + CASE WHEN ${limit.includesByok} THEN ${key}.byok_${column}_usd ELSE 0 END`;
  return `${limit.amount} - ${key}.held_usd - CASE
    WHEN ${limit.reset} IS NULL THEN ${period('total')}
    WHEN ${limit.reset} = 'daily' AND ${key}.spent_on >= ${TODAY} THEN ${period('day')}
    WHEN ${limit.reset} = 'weekly' AND ${isSamePeriod('week', key, TODAY)} THEN ${period('week')}
    WHEN ${limit.reset} = 'monthly' AND ${isSamePeriod('month', key, TODAY)} THEN ${period('month')}
    ELSE 0 END`;
}

/** A statement that waited for the row past midnight finds a later day than its own. */
export function isSamePeriod(unit: 'week' | 'month', key: string, day: string): string {
  return `date_trunc('${unit}', ${key}.spent_on) >= date_trunc('${unit}', ${day})`;
}

/** Sums in the row of a key or a workspace, each once for credits and once for own providers. */
export const FIGURES = ['total', 'day', 'week', 'month'] as const;

/**
 * SQL that releases the held amounts of keys and adds what they were charged. `source` is a common table expression
 * with `api_key_hash`, `hold`, `cost` and `byok`, one row per key.
 */
export function chargeKeys(source: string): string {
  return charge('ledger_keys', ['api_key_hash'], source);
}

/** The same SQL for workspaces: `source` has `workspace_id` and `organization_id` in place of `api_key_hash`. */
export function chargeWorkspaces(source: string): string {
  return charge('ledger_workspaces', ['workspace_id', 'organization_id'], source);
}

/** The first of the names is the primary key of the table. */
function charge(table: 'ledger_keys' | 'ledger_workspaces', names: readonly string[], source: string): string {
  const [id] = names;
  const columns = FIGURES.flatMap((figure) => [`${figure}_usd`, `byok_${figure}_usd`]);
  const rolled = FIGURES.flatMap((figure) => [
    rolledOver(`${figure}_usd`, figure),
    rolledOver(`byok_${figure}_usd`, figure),
  ]);
  return `
    INSERT INTO ${table} AS k (${names.join(', ')}, spent_on, ${columns.join(', ')})
    SELECT ${names.join(', ')}, ${TODAY}, ${FIGURES.map(() => 'cost, byok').join(', ')} FROM ${source} ORDER BY ${id}
    ON CONFLICT (${id}) DO UPDATE SET
      held_usd = k.held_usd - (SELECT hold FROM ${source} given WHERE given.${id} = k.${id}),
      spent_on = greatest(k.spent_on, excluded.spent_on),
      ${rolled.join(',\n      ')}`;
}

function rolledOver(column: string, figure: (typeof FIGURES)[number]): string {
  const sum = `k.${column} + excluded.${column}`;
  switch (figure) {
    case 'total':
      return `${column} = ${sum}`;
    case 'day':
      return `${column} = CASE WHEN k.spent_on >= excluded.spent_on THEN ${sum} ELSE excluded.${column} END`;
    case 'week':
    case 'month':
      return `${column} = CASE WHEN ${isSamePeriod(figure, 'k', 'excluded.spent_on')} THEN ${sum} ELSE excluded.${column} END`;
  }
}
