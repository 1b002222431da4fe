/** Returns the UTC day of a time in milliseconds since 1970, such as `2026-01-31`. */
export function utcDay(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 10);
}
