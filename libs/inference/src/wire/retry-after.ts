import type { IncomingHttpHeaders } from 'node:http';

/** Longest accepted `Retry-After`: a longer one than a day is ignored. */
const LONGEST_SECONDS = 86_400;
/** How much of a body is searched. */
const LONGEST_READ = 8_192;

const RETRY_DELAY = /"retryDelay"\s*:\s*"(\d{1,7}(?:\.\d{1,9})?)s"/;
const UNIT = '(?:ms|milliseconds?|h(?:ours?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)(?![a-z])';
/** Wordings of OpenAI (`try again in`), Azure (`retry after`) and Google (`retry in`). */
const COME_BACK = new RegExp(`(?:try again|retry) (?:in|after) ((?:\\d{1,7}(?:\\.\\d{1,9})? ?${UNIT} ?){1,4})`, 'i');
const DURATION = /(\d+(?:\.\d+)?) ?(ms|mil|h|m|s)/gi;
const SECONDS: Readonly<Record<string, number>> = { h: 3_600, m: 60, s: 1, ms: 0.001, mil: 0.001 };
const NUMBER = /^\d{1,10}(\.\d{1,9})?$/;

/**
 * Returns after how many whole seconds (at least 1) to retry: from `Retry-After` (RFC 9110 §10.2.3, seconds or a date)
 * or `retry-after-ms`, else from the text of the body.
 */
export function readRetryAfterSeconds(
  headers: IncomingHttpHeaders,
  body: Buffer,
  nowMs: number = Date.now(),
): number | undefined {
  return wholeSeconds(fromHeaders(headers, nowMs) ?? fromText(body.toString('utf8', 0, LONGEST_READ)));
}

/** Returns the retry time in a text, such as the message of an error inside a stream. */
export function retryAfterSecondsIn(text: string): number | undefined {
  return wholeSeconds(fromText(text.slice(0, LONGEST_READ)));
}

function wholeSeconds(seconds: number | undefined): number | undefined {
  if (seconds === undefined || !Number.isFinite(seconds)) return undefined;
  return Math.min(Math.max(Math.ceil(seconds), 1), LONGEST_SECONDS);
}

function fromHeaders(headers: IncomingHttpHeaders, nowMs: number): number | undefined {
  const milliseconds = headers['retry-after-ms'];
  if (typeof milliseconds === 'string' && NUMBER.test(milliseconds)) return Number(milliseconds) / 1_000;
  const value = headers['retry-after']?.trim() ?? '';
  if (NUMBER.test(value)) return Number(value);
  const atMs = Date.parse(value);
  // Compared with the Date header of the same response, because the clocks of provider and gateway may differ.
  const sentMs = Date.parse(headers.date ?? '');
  return Number.isNaN(atMs) ? undefined : (atMs - (Number.isNaN(sentMs) ? nowMs : sentMs)) / 1_000;
}

function fromText(text: string): number | undefined {
  const delay = RETRY_DELAY.exec(text);
  if (delay) return Number(delay[1]);
  const again = COME_BACK.exec(text)?.[1];
  if (again === undefined) return undefined;
  return [...again.matchAll(DURATION)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * SECONDS[unit!.toLowerCase()]!,
    0,
  );
}
