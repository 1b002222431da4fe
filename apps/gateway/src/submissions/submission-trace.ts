import type { JobPayload } from '@libs/contracts';
import { tracing, type SpanAttributes } from '@libs/platform';

/** Work that was taken in, for a worker to do. */
export interface Submission {
  readonly name: string;
  readonly startMs: number;
  /** `traceparent` of what caused it, as its caller says. */
  readonly cause: string | null | undefined;
  readonly attributes: SpanAttributes;
}

/** Records a span for accepted work. Returns what joins the spans of the worker to it. */
export function tracedSubmission({ name, startMs, cause, attributes }: Submission): JobPayload {
  const span = { name, kind: 'producer', startMs, endMs: Date.now(), attributes } as const;
  const traceparent = tracing()?.record(span, cause);
  return traceparent ? { traceparent } : {};
}
