import type { Secret } from '@libs/contracts';
import type { CancelSignal } from '../model/cancellation';
import type { Endpoint } from '../catalogue/catalogue';

/** Limits of one upstream call, in milliseconds. */
export interface UpstreamTimeouts {
  /** Time limit from sending the request to the first byte of the answer. */
  readonly headersMs: number;
  /** Between two reads of the answer's body. */
  readonly idleMs: number;
  /** Time limit for everything, including the wait for a connection. */
  readonly totalMs: number;
}

export interface UpstreamCall {
  readonly endpoint: Endpoint;
  /** Null for providers that need no key. */
  readonly apiKey: Secret | null;
  /** The request body in the upstream's own dialect. */
  readonly body: Buffer;
  readonly signal: CancelSignal;
  readonly timeouts: UpstreamTimeouts;
  /**
   * To whom the call belongs, from the narrowest to the widest holder. `UpstreamHttp` divides a provider's connections
   * among them.
   */
  readonly holders?: readonly string[];
  /** Headers in addition to those of the protocol and the catalogue. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A call whose body is given separately. */
export type UpstreamCallHead = Omit<UpstreamCall, 'body'>;

/** A body that can be read several times, piece by piece. */
export type SizedBody = (Iterable<Buffer> | AsyncIterable<Buffer>) & { readonly length: number };

/** A whole answer with a 2xx status. */
export interface UpstreamResult {
  readonly status: number;
  readonly body: Buffer;
  /** Number of calls that gave the answer; 1 if absent. */
  readonly calls?: number;
}
