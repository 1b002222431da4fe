/** SQL for the list price of a result; `row` is the name of the row in the statement. */
export const listUsd = (row: string): string => `(${row}.prompt_cost_usd + ${row}.completion_cost_usd)`;

/**
 * SQL: whether a line used an own key. Rows from before the column are classified by their amounts: with an own key the
 * cost is a fee, which differs from the list price unless the fee is 100 %.
 */
export const isByok = (row: string): string => `coalesce(${row}.is_byok, ${listUsd(row)} <> ${row}.cost_usd)`;
