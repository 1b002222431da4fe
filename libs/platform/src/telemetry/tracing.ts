/** What a span may say: names, counts and ids; never what was asked or answered, a header or a key. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | readonly string[] | null | undefined>>;

/** A piece of work that is over. Times in milliseconds since the epoch. */
export interface SpanRecord {
  readonly name: string;
  readonly kind: 'server' | 'client' | 'producer' | 'consumer';
  readonly startMs: number;
  readonly endMs: number;
  /** Those that are null or undefined are left out. */
  readonly attributes: SpanAttributes;
  /** One word of a small set for what went wrong: `error.type`. Absent or null for what went well. */
  readonly errorType?: string | null | undefined;
  /** What was done within it. */
  readonly parts?: readonly SpanRecord[];
}

/** Where spans go. */
export interface Tracing {
  /**
   * Hands over a span whose work is over. Never throws and never waits; what cannot be kept is dropped and counted.
   *
   * @param cause `traceparent` (W3C Trace Context) of what caused it. Without it, or where it is none, a trace begins
   * @returns its own `traceparent`, for what it causes in turn; that of the cause where it is not kept, or nothing
   */
  record(span: SpanRecord, cause?: string | null): string;
}

let active: Tracing | null = null;

/** Returns null unless the operator wants traces; without them a call costs only this check. */
export function tracing(): Tracing | null {
  return active;
}

export function traceTo(target: Tracing | null): void {
  active = target;
}
