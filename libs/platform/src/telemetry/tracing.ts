/** Attributes of a span: names, counts and ids; never content of a request or answer, a header or a key. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | readonly string[] | null | undefined>>;

/** A piece of work that is over. Times in milliseconds since the epoch. */
export interface SpanRecord {
  readonly name: string;
  readonly kind: 'server' | 'client' | 'producer' | 'consumer';
  readonly startMs: number;
  readonly endMs: number;
  /** Values that are null or undefined are left out. */
  readonly attributes: SpanAttributes;
  /** A word from a small set for the kind of error: `error.type`. Absent or null on success. */
  readonly errorType?: string | null | undefined;
  /** Spans of the work inside it. */
  readonly parts?: readonly SpanRecord[];
}

/** The receiver of spans. */
export interface Tracing {
  /**
   * Records a span whose work is over. Never throws and never waits; a span that cannot be kept is dropped and counted.
   * @param cause `traceparent` (W3C Trace Context) of its parent. If absent or invalid, a new trace begins
   * @returns its own `traceparent` for child spans; if it is not recorded, that of the parent, or nothing
   */
  record(span: SpanRecord, cause?: string | null): string;
}

let active: Tracing | null = null;

/**
 * Returns the tracing of this process; null unless the operator turned traces on. Without them a call costs only this
 * check.
 */
export function tracing(): Tracing | null {
  return active;
}

export function traceTo(target: Tracing | null): void {
  active = target;
}
