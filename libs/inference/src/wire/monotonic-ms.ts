/**
 * Returns whole milliseconds of a clock that only goes forward. Pauses, windows and deadlines are measured by it. If
 * the host's clock were used and set back by an hour, a pause of one second would last an hour.
 */
export function monotonicMs(): number {
  return Math.floor(performance.now());
}
