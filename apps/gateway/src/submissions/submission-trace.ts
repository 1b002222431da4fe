import type { JobPayload } from '@libs/contracts';
import { tracing, type SpanAttributes } from '@libs/platform';

/** Accepted work for a worker. */
export interface Submission {
  readonly name: string;
  readonly startMs: number;
  /** `traceparent` of the span that caused it, as its caller sent it. */
  readonly cause: string | null | undefined;
  readonly attributes: SpanAttributes;
}

/** Records a span for accepted work. Returns the trace context for the spans of the worker. */
export function tracedSubmission({ name, startMs, cause, attributes }: Submission): JobPayload {
  const span = { name, kind: 'producer', startMs, endMs: Date.now(), attributes } as const;
  const traceparent = tracing()?.record(span, cause);
  return traceparent ? { traceparent } : {};
}
