import type { IncomingHttpHeaders } from 'node:http';

/** A hint longer than a day is no hint. */
const LONGEST_SECONDS = 86_400;
/** How much of a body is searched. */
const LONGEST_READ = 8_192;

const RETRY_DELAY = /"retryDelay"\s*:\s*"(\d{1,7}(?:\.\d{1,9})?)s"/;
const TRY_AGAIN = /try again in ((?:\d{1,7}(?:\.\d{1,9})? ?(?:ms|h|m|s) ?){1,4})/i;
const DURATION = /(\d+(?:\.\d+)?) ?(ms|h|m|s)/gi;
const SECONDS: Readonly<Record<string, number>> = { h: 3_600, m: 60, s: 1, ms: 0.001 };
const NUMBER = /^\d{1,10}(\.\d{1,9})?$/;

/**
 * When to come back, in whole seconds of at least 1: from `Retry-After` (RFC 9110 §10.2.3, seconds or a
 * date) or `retry-after-ms`, else from what some upstreams only say in the body.
 */
export function readRetryAfterSeconds(
  headers: IncomingHttpHeaders,
  body: Buffer,
  nowMs: number = Date.now(),
): number | undefined {
  const seconds = fromHeaders(headers, nowMs) ?? fromBody(body);
  if (seconds === undefined || !Number.isFinite(seconds)) return undefined;
  return Math.min(Math.max(Math.ceil(seconds), 1), LONGEST_SECONDS);
}

function fromHeaders(headers: IncomingHttpHeaders, nowMs: number): number | undefined {
  const milliseconds = headers['retry-after-ms'];
  if (typeof milliseconds === 'string' && NUMBER.test(milliseconds)) return Number(milliseconds) / 1_000;
  const value = headers['retry-after']?.trim() ?? '';
  if (NUMBER.test(value)) return Number(value);
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? undefined : (atMs - nowMs) / 1_000;
}

function fromBody(body: Buffer): number | undefined {
  const text = body.toString('utf8', 0, LONGEST_READ);
  const delay = RETRY_DELAY.exec(text);
  if (delay) return Number(delay[1]);
  const again = TRY_AGAIN.exec(text)?.[1];
  if (again === undefined) return undefined;
  return [...again.matchAll(DURATION)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * SECONDS[unit!.toLowerCase()]!,
    0,
  );
}
