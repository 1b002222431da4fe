import type { SpanAttributes } from '@libs/platform';
import { storedText } from './stored-text';

/** The caller's own trace, from the field `trace`, as texts. */
export type CallerTrace = Readonly<Record<string, string>>;

const MOST_KEYS = 16;
const KEY = /^[A-Za-z_][\w.-]{0,63}$/;
const TRACE_ID = /^(?!0{32})[0-9a-f]{32}$/;
const SPAN_ID = /^(?!0{16})[0-9a-f]{16}$/;

/**
 * Returns the part of a `trace` to record: the first 16 fields that are texts, numbers or booleans, each with at most
 * 256 characters. Undefined if nothing is left.
 */
export function storedTrace(trace: unknown): CallerTrace | undefined {
  if (typeof trace !== 'object' || trace === null || Array.isArray(trace)) return undefined;
  const stored: Record<string, string> = {};
  let count = 0;
  for (const [key, value] of Object.entries(trace)) {
    if (!KEY.test(key) || typeof value === 'object') continue;
    const text = storedText(String(value));
    if (text === undefined) continue;
    stored[key] = text;
    count += 1;
    if (count === MOST_KEYS) break;
  }
  return count === 0 ? undefined : stored;
}

export function traceAttributes(trace: CallerTrace | undefined): SpanAttributes {
  return Object.fromEntries(Object.entries(trace ?? {}).map(([key, text]) => [`sluice.trace.${key}`, text]));
}

/**
 * Returns the `traceparent` of the span that a `trace` names by ids of W3C Trace Context; undefined if it names none.
 */
export function traceparentOf(trace: unknown): string | undefined {
  const { trace_id: traceId, parent_span_id: spanId } = storedTrace(trace) ?? {};
  if (traceId === undefined || spanId === undefined) return undefined;
  return TRACE_ID.test(traceId) && SPAN_ID.test(spanId) ? `00-${traceId}-${spanId}-01` : undefined;
}
