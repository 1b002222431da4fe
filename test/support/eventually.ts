import { setTimeout as delay } from 'node:timers/promises';

const FIRST_WAIT_MS = 10;
const LAST_WAIT_MS = 250;
/** Where no test asks how soon something happens, so that none fails because the machine is busy. */
const LEAST_PATIENCE_MS = Number(process.env.TEST_PATIENCE_MS ?? 0);

/** Asks until there is an answer, for what another process does in its own time. Undefined means: not yet. */
export async function eventually<T>(
  what: string,
  withinMs: number,
  ask: () => Promise<T | undefined> | T | undefined,
): Promise<T> {
  const patienceMs = Math.max(withinMs, LEAST_PATIENCE_MS);
  const deadline = performance.now() + patienceMs;
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(LAST_WAIT_MS, waitMs * 1.2)) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (performance.now() > deadline) throw new Error(`did not happen within ${patienceMs} ms: ${what}`);
    await delay(waitMs);
  }
}
