import { AppError } from '@libs/errors';

/** Says when a call is to be ended early. An AbortSignal is one. */
export interface CancelSignal {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/**
 * Ends whatever listens to it, once. What an AbortController does, for calls of which there are thousands per
 * second and signals on which hundreds of them listen: no event objects, and a listener goes in one step
 * however many there are.
 */
export class Cancellation implements CancelSignal {
  #isAborted = false;
  #listeners: Set<() => void> | null = null;
  #controller: AbortController | null = null;

  get aborted(): boolean {
    return this.#isAborted;
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    if (!this.#isAborted) (this.#listeners ??= new Set()).add(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners?.delete(listener);
  }

  abort(): void {
    if (this.#isAborted) return;
    this.#isAborted = true;
    const listeners = this.#listeners;
    this.#listeners = null;
    this.#controller?.abort();
    for (const listener of listeners ?? []) listener();
  }

  /** The same as an AbortSignal, for whoever takes no other. */
  toAbortSignal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#isAborted) this.#controller.abort();
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

/** What a caller's own leaving looks like inside; nobody is there to read it. */
export function callCancelled(): AppError {
  return new AppError('request_timeout', 'The request was cancelled');
}
