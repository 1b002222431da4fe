/** The list price of a result; `row` is the name of the row in the statement. */
export const listUsd = (row: string): string => `(${row}.prompt_cost_usd + ${row}.completion_cost_usd)`;

/**
 * Whether an own key ran the line. Rows from before the column are judged by their amounts: on an own key the cost is
 * a fee, which differs from the list price unless it is all of it.
 */
export const isByok = (row: string): string => `coalesce(${row}.is_byok, ${listUsd(row)} <> ${row}.cost_usd)`;
