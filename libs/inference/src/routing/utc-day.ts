const DAY_MS = 86_400_000;
/** Every call asks for the day, and writing a date takes a hundredth of its time. */
let last = { day: NaN, text: '' };

/** Returns the UTC day of a time in milliseconds since 1970, such as `2026-01-31`. */
export function utcDay(timeMs: number): string {
  const day = Math.floor(timeMs / DAY_MS);
  if (day !== last.day) last = { day, text: new Date(timeMs).toISOString().slice(0, 10) };
  return last.text;
}
