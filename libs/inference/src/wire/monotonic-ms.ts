/**
 * Returns whole milliseconds of a clock that only goes forward. Pauses, windows and deadlines are measured by it: set
 * back by an hour, the clock of the host would make a pause of a second one of an hour.
 */
export function monotonicMs(): number {
  return Math.floor(performance.now());
}
