/** A partition by its bounds, days of UTC: `from` belongs to it, `to` does not. Null is without a bound. */
export interface Partition {
  readonly name: string;
  readonly from: string | null;
  readonly to: string | null;
}

/** What the default partition holds of a week that no partition covers. */
export interface StrayWeek {
  readonly monday: string;
  readonly rows: number;
  readonly bytes: number;
}

/** How to make the partitions that are missing. */
export interface PartitionPlan {
  /**
   * Mondays of weeks to make, the earliest first. Their rows in the default partition are few enough to move, or beyond
   * a partition up to which it is adopted.
   */
  readonly weeks: readonly string[];
  /** Weeks to cover by the default partition itself, as it holds too much of them; null when that is not so. */
  readonly adoption: { readonly from: string; readonly to: string } | null;
}

const MOST_ROWS_MOVED = 20_000;
const MOST_BYTES_MOVED = 64 * 1024 * 1024;
const WEEKS_AHEAD = 4;
const DAY_MS = 86_400_000;

/**
 * Plans for `today`: this week, the coming four, and every earlier week that has rows in the default partition. Rows of later weeks stay where they are until their week is near, unless the default partition is adopted.
 */
export function planPartitions(
  today: string,
  partitions: readonly Partition[],
  strays: readonly StrayWeek[],
): PartitionPlan {
  const thisWeek = mondayOf(today);
  const lastWeek = plusDays(thisWeek, WEEKS_AHEAD * 7);
  const coming = Array.from({ length: WEEKS_AHEAD + 1 }, (_, index) => plusDays(thisWeek, index * 7));
  const tooMuch = strays
    .filter((stray) => isTooMuch(stray) && isNear(stray.monday, thisWeek))
    .map(({ monday }) => monday);
  const near = strays.map(({ monday }) => monday).filter((monday) => monday <= lastWeek || tooMuch.length > 0);
  const adoption = adoptionOf(tooMuch, thisWeek, partitions, near);
  const weeks = [...new Set([...coming, ...near])]
    .filter((monday) => !partitions.some((partition) => covers(partition, monday)))
    .filter((monday) => adoption === null || monday < adoption.from || monday >= adoption.to);
  return { weeks: weeks.toSorted(), adoption };
}

/** From the first week with too many rows up to the next partition, or past all rows and the coming week. */
function adoptionOf(
  tooMuch: readonly string[],
  thisWeek: string,
  partitions: readonly Partition[],
  strays: readonly string[],
): PartitionPlan['adoption'] {
  const from = tooMuch.toSorted()[0];
  if (from === undefined) return null;
  const starts = partitions.flatMap(({ from: start }) => (start !== null && start > from ? [start] : []));
  const next = starts.toSorted()[0];
  // Rows of today go on arriving while the default partition is checked, also past midnight.
  const last = [plusDays(thisWeek, 7), ...strays.filter((monday) => isNear(monday, thisWeek))].toSorted().at(-1)!;
  const end = plusDays(last, 7);
  return { from, to: next !== undefined && next < end ? next : end };
}

function isNear(monday: string, thisWeek: string): boolean {
  return monday <= plusDays(thisWeek, WEEKS_AHEAD * 7);
}

function isTooMuch({ rows, bytes }: StrayWeek): boolean {
  return rows > MOST_ROWS_MOVED || bytes > MOST_BYTES_MOVED;
}

function covers({ from, to }: Partition, monday: string): boolean {
  return (from === null || from <= monday) && (to === null || monday < to);
}

export function plusDays(day: string, days: number): string {
  return new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);
}

function mondayOf(day: string): string {
  return plusDays(day, -((new Date(day).getUTCDay() + 6) % 7));
}
