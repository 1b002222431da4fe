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

/** Tells of work that was taken in, and gives its job what joins the worker's part to it. */
export function tracedSubmission({ name, startMs, cause, attributes }: Submission): JobPayload {
  const span = { name, kind: 'producer', startMs, endMs: Date.now(), attributes } as const;
  const traceparent = tracing()?.record(span, cause);
  return traceparent ? { traceparent } : {};
}
