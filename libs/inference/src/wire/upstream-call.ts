import type { Secret } from '@libs/contracts';
import type { CancelSignal } from '../model/cancellation';
import type { Endpoint } from '../catalogue/catalogue';

/** Limits of one upstream call, in milliseconds. */
export interface UpstreamTimeouts {
  /** From the request being sent to the first byte of the answer. */
  readonly headersMs: number;
  /** Between two reads of the answer's body. */
  readonly idleMs: number;
  /** For everything, waiting for a connection included. */
  readonly totalMs: number;
}

export interface UpstreamCall {
  readonly endpoint: Endpoint;
  /** Null for providers that ask for none. */
  readonly apiKey: Secret | null;
  /** In the upstream's own dialect. */
  readonly body: Buffer;
  readonly signal: CancelSignal;
  readonly timeouts: UpstreamTimeouts;
  /** Whose call it is, from the narrowest to the widest: what `UpstreamHttp` shares a provider's connections by. */
  readonly holders?: readonly string[];
  /** In addition to those that the protocol and the catalogue ask for. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A call whose body is given separately. */
export type UpstreamCallHead = Omit<UpstreamCall, 'body'>;

/** A body that can be read again and again, piece by piece. */
export type SizedBody = (Iterable<Buffer> | AsyncIterable<Buffer>) & { readonly length: number };

/** A whole answer with a 2xx status. */
export interface UpstreamResult {
  readonly status: number;
  readonly body: Buffer;
}
