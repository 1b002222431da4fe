import { createHash } from 'node:crypto';

/** How the upstream behaves towards the callers of one of its base URLs. Shares are parts of 1. */
export interface UpstreamScript {
  /** From the end of the request to the answer. */
  readonly latencyMs?: number;
  /** Two runs with the same seed treat the same calls alike. */
  readonly seed?: number;
  /** 429 with `Retry-After`. */
  readonly rateLimitedShare?: number;
  readonly retryAfterSeconds?: number;
  /** 500, 502 or 503. */
  readonly serverErrorShare?: number;
  /** Never answered; the caller must give up. */
  readonly hangShare?: number;
  /** 200 with JSON that breaks off. */
  readonly malformedShare?: number;
  /** What every call comes to: its connection is closed without an answer, or it is refused with this status. */
  readonly outage?: 'closes' | number;
  /** Markers of calls that are always answered with 500. */
  readonly poisoned?: readonly string[];
}

export type Behaviour = 'answer' | 'rate-limited' | 'server-error' | 'hang' | 'malformed' | 'outage' | 'poisoned';

/** One call as the upstream saw it. Times in milliseconds since the epoch. */
export interface UpstreamCall {
  readonly script: string;
  readonly marker: string;
  readonly behaviour: Behaviour;
  readonly startMs: number;
  /** When the answer was handed to the system, or the caller left. */
  endMs: number | null;
  /** 0 when the caller left before an answer. */
  status: number | null;
}

export interface UpstreamCounts {
  /** Requests that arrived. */
  readonly calls: number;
  /** Answers by status; `0` counts callers that left. */
  readonly byStatus: Readonly<Record<string, number>>;
  readonly firstCallMs: number | null;
  readonly lastCallMs: number | null;
}

/**
 * What happens to the `nth` call (from 1) of a request: drawn by the seed, the marker and the count alone, so
 * that neither the order of arrival nor the speed of the machine changes it.
 */
export function drawBehaviour(script: UpstreamScript, marker: string, nth: number): Behaviour {
  if (script.outage !== undefined) return 'outage';
  if (script.poisoned?.includes(marker)) return 'poisoned';
  const shares: readonly (readonly [Behaviour, number | undefined])[] = [
    ['rate-limited', script.rateLimitedShare],
    ['server-error', script.serverErrorShare],
    ['hang', script.hangShare],
    ['malformed', script.malformedShare],
  ];
  if (shares.every(([, share]) => !share)) return 'answer';
  let left = draw(`${script.seed ?? 0} ${nth} ${marker}`);
  for (const [behaviour, share = 0] of shares) {
    if (left < share) return behaviour;
    left -= share;
  }
  return 'answer';
}

/** From 0 to below 1. */
function draw(key: string): number {
  return createHash('sha256').update(key).digest().readUInt32BE(0) / 2 ** 32;
}
