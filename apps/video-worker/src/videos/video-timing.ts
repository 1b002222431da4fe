import type { UpstreamTimeouts } from '@libs/inference';

/** A job stays with a worker for this long without a renewal. */
export const LEASE_MS = 30_000;
export const RENEW_EVERY_MS = 10_000;

/** Pictures may travel with a submission. */
export const SUBMIT_TIMEOUTS: UpstreamTimeouts = { headersMs: 60_000, idleMs: 30_000, totalMs: 120_000 };
export const POLL_TIMEOUTS: UpstreamTimeouts = { headersMs: 15_000, idleMs: 15_000, totalMs: 20_000 };
export const DOWNLOAD_TIMEOUTS: UpstreamTimeouts = { headersMs: 30_000, idleMs: 60_000, totalMs: 900_000 };

export const FIRST_POLL_MS = 1_000;
const SLOWEST_POLL_MS = 20_000;
const POLL_GROWTH = 1.5;

/** Returns how long to wait after this many polls; randomized, so that jobs of one burst spread out. */
export function pollDelayMs(polls: number, dice: number = Math.random()): number {
  const usual = Math.min(SLOWEST_POLL_MS, FIRST_POLL_MS * POLL_GROWTH ** Math.min(polls, 20));
  return Math.round(usual * (0.75 + dice / 2));
}

const SLOWEST_FETCH_MS = 300_000;

/** Returns the wait before the next try to fetch a finished video, after this many failures. */
export function fetchDelayMs(failures: number, dice: number = Math.random()): number {
  const usual = Math.min(SLOWEST_FETCH_MS, 1_000 * 2 ** Math.min(failures, 20));
  return Math.round(usual * (0.75 + dice / 4));
}

const SLOWEST_RETRY_MS = 30_000;

/** Full jitter, starting at one second; a wait that the provider asks for has precedence, up to ten minutes. */
export function retryDelayMs(attempts: number, retryAfterSeconds?: number, dice: number = Math.random()): number {
  if (retryAfterSeconds !== undefined) return Math.min(600, retryAfterSeconds) * 1_000;
  const ceiling = Math.min(SLOWEST_RETRY_MS, 1_000 * 2 ** Math.min(attempts, 10));
  return Math.max(250, Math.round(dice * ceiling));
}
