import { eventually } from './eventually';

const PATIENCE_MS = 5_000;

/**
 * Asks until a change is felt. Returns how long after the beginning the last question was asked that still got the old
 * answer: 0 if none did. The time that the answers take, which is long on a busy machine, does not count.
 */
export async function feltFor(what: string, isFelt: () => Promise<boolean>): Promise<number> {
  const startedMs = performance.now();
  let lastMs = startedMs;
  await eventually(what, PATIENCE_MS, async () => {
    const askedMs = performance.now();
    if (await isFelt()) return true;
    lastMs = askedMs;
    return undefined;
  });
  return lastMs - startedMs;
}
