import { setTimeout as delay } from 'node:timers/promises';

const FIRST_WAIT_MS = 10;
const LAST_WAIT_MS = 250;

/** Asks until there is an answer, for what another process does in its own time. Undefined means: not yet. */
export async function eventually<T>(
  what: string,
  withinMs: number,
  ask: () => Promise<T | undefined> | T | undefined,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(LAST_WAIT_MS, waitMs * 1.2)) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (performance.now() > deadline) throw new Error(`did not happen within ${withinMs} ms: ${what}`);
    await delay(waitMs);
  }
}
