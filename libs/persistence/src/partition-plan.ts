/** A partition with its bounds, days of UTC: `from` is included, `to` is not. Null: no bound. */
export interface Partition {
  readonly name: string;
  readonly from: string | null;
  readonly to: string | null;
}

/** Rows in the default partition of a week without a partition. */
export interface StrayWeek {
  readonly monday: string;
  readonly rows: number;
  readonly bytes: number;
}

/** How to create the missing partitions. */
export interface PartitionPlan {
  /**
   * Mondays of the weeks to create, the earliest first. Their rows in the default partition are few enough to move, or
   * lie after a partition up to which the default partition is adopted.
   */
  readonly weeks: readonly string[];
  /**
   * Weeks for which the default partition itself becomes the partition, because it has too many of their rows;
   * otherwise null.
   */
  readonly adoption: { readonly from: string; readonly to: string } | null;
}

const MOST_ROWS_MOVED = 20_000;
const MOST_BYTES_MOVED = 64 * 1024 * 1024;
const WEEKS_AHEAD = 4;
const DAY_MS = 86_400_000;

/**
 * Plans for `today`: this week, the next four, and every earlier week with rows in the default partition. Rows of later
 * weeks stay until their week is near, unless the default partition is adopted.
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

/**
 * Returns the weeks from the first one with too many rows up to the next partition, or past all rows and the coming
 * week.
 */
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
  // Rows of today continue to arrive while the default partition is checked, also after midnight.
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
