import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_EVERY_MS = 200;
const POLL_TIMEOUT_MS = 2_000;

/** Returns whether an app's health port reports ready. */
export async function answersReady(healthPort: number): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${healthPort}/health/ready`, {
      signal: AbortSignal.timeout(POLL_TIMEOUT_MS),
    });
    await response.body?.cancel();
    return response.status === 200;
  } catch {
    return false;
  }
}

export function acceptsConnections(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect({ port, host: '127.0.0.1', timeout: POLL_TIMEOUT_MS });
    const end = (accepts: boolean) => (): void => {
      socket.destroy();
      done(accepts);
    };
    socket.once('connect', end(true));
    socket.once('error', end(false));
    socket.once('timeout', end(false));
  });
}

/** Polls until all are ready. Returns those that are not when the time is up or `giveUp` returns true. */
export async function waitUntilReady(
  checks: ReadonlyMap<string, () => Promise<boolean>>,
  timeoutMs: number,
  giveUp: () => boolean,
): Promise<string[]> {
  const startedAt = performance.now();
  for (;;) {
    const answers = await Promise.all([...checks].map(async ([name, isReady]) => ({ name, ready: await isReady() })));
    const missing = answers.filter(({ ready }) => !ready).map(({ name }) => name);
    if (missing.length === 0 || giveUp() || performance.now() - startedAt > timeoutMs) return missing;
    await delay(POLL_EVERY_MS);
  }
}
