/**
 * Lists as PostgreSQL array literals, for statements that carry hundreds of rows: the driver's own encoder
 * looks at every element twice with regular expressions, which costs more than running the statement.
 */

/** Returns an array literal for elements without special characters: numbers, decimal strings, ids, booleans. */
export function plainArray(values: readonly (number | bigint | boolean | string | null)[]): string {
  return `{${values.map((value) => value ?? 'NULL').join(',')}}`;
}

/** Returns an array literal for any texts. */
export function textArray(values: readonly (string | null)[]): string {
  return `{${values.map((value) => (value === null ? 'NULL' : quoted(value))).join(',')}}`;
}

const SPECIAL = /["\\]/g;

function quoted(text: string): string {
  const escaped = text.includes('"') || text.includes('\\') ? text.replace(SPECIAL, '\\$&') : text;
  return `"${escaped}"`;
}
