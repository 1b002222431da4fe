import { AppError } from '@libs/errors';
import type { LeaveTerms } from './leftover-reads';

/** Says when a call is to be ended early. An AbortSignal is one. */
export interface CancelSignal {
  readonly aborted: boolean;
  /** Set unless calls under way must end at once: an upstream call that was sent may go on within these terms. */
  readonly leaveTerms?: LeaveTerms | null;
  addEventListener(type: 'abort', listener: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/**
 * Calls its listeners once, like an AbortController, for thousands of calls per second and signals with hundreds of
 * listeners: it makes no event objects, and removes a listener in one step however many there are.
 *
 * A call ends in one of two ways. `abort` ends everything. `leave` says that the caller has disconnected: nothing new
 * begins, but upstream calls under way may be read on for their usage. Those listen again, because `abort` may follow.
 */
export class Cancellation implements CancelSignal {
  #state: 'open' | 'left' | 'aborted' = 'open';
  #listeners: Set<() => void> | null = null;
  #controller: AbortController | null = null;

  /** @param terms of upstream calls after `leave`; null: `leave` is `abort` */
  constructor(private terms: LeaveTerms | null = null) {}

  /** Ends when `signal` does, in the same way. */
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

  /** After the caller disconnects, upstream calls continue until their own deadlines. */
  leavePatiently(): void {
    if (this.#state === 'open') this.terms = this.terms?.patient?.() ?? this.terms;
  }

  #tell(): void {
    const listeners = this.#listeners;
    this.#listeners = null;
    this.#controller?.abort();
    for (const listener of listeners ?? []) listener();
  }

  /** Returns an AbortSignal for code that takes no other signal. It aborts with `leave` too. */
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

/** Returns the internal error of a call whose caller has disconnected; no client gets it. */
export function callCancelled(): AppError {
  const error = new AppError('request_timeout', 'The request was cancelled');
  cancelled.add(error);
  return error;
}

/** Returns whether the error says that the caller has disconnected, whether or not the call had been sent. */
export function isCancelled(error: AppError): boolean {
  return cancelled.has(error);
}

const abandoned = new WeakSet<AppError>();

/** Returns the same for an upstream call that was sent: the provider may have worked on it, so it is charged. */
export function callAbandoned(): AppError {
  const error = callCancelled();
  abandoned.add(error);
  return error;
}

/** Returns whether the error comes from `callAbandoned`. */
export function isAbandoned(error: AppError): boolean {
  return abandoned.has(error);
}
