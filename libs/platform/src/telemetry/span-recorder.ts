import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Context,
  type SpanContext,
  type Tracer,
} from '@opentelemetry/api';
import type { SpanAttributes, SpanRecord, Tracing } from './tracing';

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const;

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Records finished spans with OpenTelemetry. The sender of a `traceparent` may have chosen not to keep the trace. */
export class SpanRecorder implements Tracing {
  constructor(
    private readonly tracer: Tracer,
    /** Returns whether there is room for this many more spans. */
    private readonly admit: (spans: number) => boolean,
  ) {}

  record(span: SpanRecord, cause: string | null = null): string {
    const parent = readTraceparent(cause);
    const isWanted = parent === null || (parent.traceFlags & TraceFlags.SAMPLED) !== 0;
    if (!isWanted || !this.admit(1 + (span.parts?.length ?? 0))) {
      return parent === null ? '' : cause!;
    }
    return this.#record(span, parent === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent));
  }

  #record({ name, kind, startMs, endMs, attributes, errorType, parts = [] }: SpanRecord, context: Context): string {
    const said = told(errorType == null ? attributes : { ...attributes, 'error.type': errorType });
    const span = this.tracer.startSpan(name, { kind: KINDS[kind], startTime: startMs, attributes: said }, context);
    if (errorType != null) span.setStatus({ code: SpanStatusCode.ERROR });
    const within = trace.setSpan(context, span);
    for (const part of parts) this.#record(part, within);
    span.end(Math.max(startMs, endMs));
    const { traceId, spanId, traceFlags } = span.spanContext();
    return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
  }
}

function readTraceparent(text: string | null): SpanContext | null {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(text ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED, isRemote: true };
}

function told(attributes: SpanAttributes): Record<string, string | number | boolean | string[]> {
  const known = Object.entries(attributes).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(known) as Record<string, string | number | boolean | string[]>;
}
