/**
 * `SLUICE_HOSTILE=full`, as `npm run chaos` sets it, runs the long form: default limits, thousands of connections, a
 * minute each, and more requests of every kind.
 */
export const IS_FULL = process.env.SLUICE_HOSTILE === 'full';

/** Prints figures that a reader of the run should see. */
export function report(figures: Readonly<Record<string, unknown>>): void {
  process.stderr.write(`${JSON.stringify(figures)}\n`);
}
