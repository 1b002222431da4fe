import { AppError } from '@libs/errors';
import type { LeaveTerms } from './leftover-reads';

/** Signals that a call must end early. An AbortSignal is one. */
export interface CancelSignal {
  readonly aborted: boolean;
  /** Set if upstream calls that were already sent may continue within these terms; otherwise they must end at once. */
  readonly leaveTerms?: LeaveTerms | null;
  addEventListener(type: 'abort', listener: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/**
 * Calls its listeners once, like an AbortController, but is made for thousands of calls per second and hundreds of
 * listeners: it creates no event objects, and removing a listener takes constant time.
 *
 * A call ends in one of two ways. `abort` ends everything. `leave` says that the caller has disconnected: nothing new
 * begins, but running upstream calls may be read on for their usage. Such calls listen again, because `abort` may
 * follow.
 */
export class Cancellation implements CancelSignal {
  #state: 'open' | 'left' | 'aborted' = 'open';
  #listeners: Set<() => void> | null = null;
  #controller: AbortController | null = null;

  /** @param terms for upstream calls after `leave`; null: `leave` is the same as `abort` */
  constructor(private terms: LeaveTerms | null = null) {}

  /** Returns a cancellation that ends when `signal` does, in the same way. */
  static following(signal: CancelSignal): Cancellation {
    const own = new Cancellation(signal.leaveTerms ?? null);
    const follow = (): void => {
      if (!signal.leaveTerms) return own.abort();
      own.leave();
      signal.addEventListener('abort', follow, { once: true });
    };
    if (signal.aborted) follow();
    else signal.addEventListener('abort', follow, { once: true });
    return own;
  }

  get aborted(): boolean {
    return this.#state !== 'open';
  }

  get leaveTerms(): LeaveTerms | null {
    return this.#state === 'aborted' ? null : this.terms;
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    if (this.#state !== 'aborted') (this.#listeners ??= new Set()).add(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners?.delete(listener);
  }

  abort(): void {
    if (this.#state === 'aborted') return;
    this.#state = 'aborted';
    this.#tell();
  }

  /** The caller has disconnected. */
  leave(terms: LeaveTerms | null = this.terms): void {
    if (terms === null) return this.abort();
    if (this.#state !== 'open') return;
    this.terms = terms;
    this.#state = 'left';
    this.#tell();
  }

  /** Like `leave`, but running upstream calls continue until their own deadlines. */
  leavePatiently(): void {
    if (this.#state === 'open') this.terms = this.terms?.patient?.() ?? this.terms;
  }

  #tell(): void {
    const listeners = this.#listeners;
    this.#listeners = null;
    this.#controller?.abort();
    for (const listener of listeners ?? []) listener();
  }

  /** Returns an AbortSignal for code that accepts no other signal. It also aborts on `leave`. */
  toAbortSignal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.aborted) this.#controller.abort();
    return this.#controller.signal;
  }
}

export function toAbortSignal(signal: CancelSignal): AbortSignal {
  if (signal instanceof AbortSignal) return signal;
  if (signal instanceof Cancellation) return signal.toAbortSignal();
  const controller = new AbortController();
  if (signal.aborted) controller.abort();
  else signal.addEventListener('abort', () => controller.abort(), { once: true });
  return controller.signal;
}

const cancelled = new WeakSet<AppError>();

/** Returns the internal error of a call whose caller has disconnected; it is never sent to a client. */
export function callCancelled(): AppError {
  const error = new AppError('request_timeout', 'The request was cancelled');
  cancelled.add(error);
  return error;
}

/** Returns whether the error means that the caller has disconnected, whether or not the call had been sent. */
export function isCancelled(error: AppError): boolean {
  return cancelled.has(error);
}

const abandoned = new WeakSet<AppError>();

/**
 * Returns the error of a call whose caller has disconnected after it was sent upstream: it is charged, because the
 * provider may have worked on it.
 */
export function callAbandoned(): AppError {
  const error = callCancelled();
  abandoned.add(error);
  return error;
}

/** Returns whether the error comes from `callAbandoned`. */
export function isAbandoned(error: AppError): boolean {
  return abandoned.has(error);
}
