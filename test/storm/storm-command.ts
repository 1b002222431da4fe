import { say } from '../../scripts/checkout';
import { runStorm } from './storm';
import { readStormOptions } from './storm-options';
import { reportOf, tableOf, type StormResult } from './storm-report';

/** `npm run chaos -- storm …`. @returns the exit code: 0 when every storm kept every promise */
export async function stormCommand(args: readonly string[]): Promise<number> {
  const { seeds, minutes, without, keep } = readStormOptions(args);
  const results: StormResult[] = [];
  for (const seed of seeds) {
    say(`\n--- storm seed ${seed}`);
    const startedAt = performance.now();
    const tell = (what: string): void =>
      say(`  ${String(Math.round((performance.now() - startedAt) / 1_000)).padStart(4)} s  ${what}`);
    const result = await runStorm({ seed, minutes, without, keep }, tell);
    results.push(result);
    process.stdout.write(`${reportOf(result)}\n`);
  }
  if (results.length > 1) process.stdout.write(`\n${tableOf(results)}\n`);
  return results.every(({ violations }) => violations.length === 0) ? 0 : 1;
}
