import type { IncomingHttpHeaders } from 'node:http';

/** A failure of the transport rather than of the answer: it needs the socket, so the delivery plays it. */
export type Fault =
  | { readonly kind: 'reset' }
  | { readonly kind: 'hang' }
  | { readonly kind: 'malformed' }
  | { readonly kind: 'cut'; readonly after: number }
  | { readonly kind: 'stall'; readonly after: number }
  | { readonly kind: 'error'; readonly after: number };

/** A call that was read completely. */
export interface Call {
  readonly headers: IncomingHttpHeaders;
  readonly query: URLSearchParams;
  /** The value of `{id}` in the route's path. */
  readonly id: string;
  readonly body: Buffer;
}

/** How an answer is played: scripted by the model name, see behaviours/model-behaviour.ts. */
export interface Playback {
  /** null: the provider's own latency. */
  readonly latencyMs: number | null;
  readonly chunkMs: number;
  readonly fault: Fault | null;
}

export interface BodyReply {
  readonly kind: 'body';
  readonly status: number;
  readonly contentType: string;
  readonly body: string | Buffer;
  /** Name, value, name, value. */
  readonly headers?: readonly string[];
  readonly playback?: Playback;
}

export interface StreamReply {
  readonly kind: 'stream';
  /** Server-sent events, framed, each with its closing blank line. */
  readonly events: readonly string[];
  /** The event by which this dialect reports a failure in mid-stream. */
  readonly errorEvent: string;
  readonly playback?: Playback;
}

export type Reply = BodyReply | StreamReply;
export type Handle = (call: Call) => Reply | Promise<Reply>;

export function jsonReply(value: unknown, playback?: Playback, status = 200): BodyReply {
  return { kind: 'body', status, contentType: 'application/json', body: JSON.stringify(value), playback };
}

/** Returns an event with only a data field, as in the chat dialect. */
export function dataEvent(json: string): string {
  return `data: ${json}\n\n`;
}

/** Returns an event whose name repeats its `type` field, as in the Responses and Messages dialects. */
export function namedEvent(value: { readonly type: string; readonly [member: string]: unknown }): string {
  return `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
}
