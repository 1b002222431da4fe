const DAY_MS = 86_400_000;
const SECOND_MS = 1_000;

/** Returns the first moment of a UTC day, or of the day this many days later, as an RFC 3339 time. */
export function startOfDay(day: string, later = 0): string {
  return `${new Date(Date.parse(`${day}T00:00:00Z`) + later * DAY_MS).toISOString().slice(0, 19)}Z`;
}

export function unixSeconds(day: string, later = 0): string {
  return String(Date.parse(startOfDay(day, later)) / SECOND_MS);
}

/** Returns true for a day of the calendar as `YYYY-MM-DD`. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const at = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text);
}

/** Returns the number of days between two days, both included. */
export function daysBetween(from: string, to: string): number {
  return (Date.parse(`${to}T00:00:00Z`) - Date.parse(`${from}T00:00:00Z`)) / DAY_MS + 1;
}
