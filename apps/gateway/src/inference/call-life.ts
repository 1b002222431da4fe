import { AppError } from '@libs/errors';
import { Cancellation, type LeaveTerms } from '@libs/inference';
import type { EarlyEnd, RequestLife } from '../http/in-flight';
import { rephrased } from './call-failure';

/** Ends a call when its client disconnects, or when the process has to stop. */
export class CallLife {
  readonly abort: Cancellation;
  private isStopped = false;

  /** @param terms for upstream calls whose caller disconnects; null: they end at once */
  constructor(life: RequestLife, terms: LeaveTerms | null = null) {
    this.abort = new Cancellation(terms);
    life.onEarlyEnd = this.onEarlyEnd;
  }

  /** Why the gateway ended the call, as the error for its caller. */
  get reason(): AppError {
    return this.isStopped
      ? new AppError('provider_overloaded', 'The service is restarting', { retryAfterSeconds: 1 })
      : new AppError('server', 'Internal error', { internal: 'a call was ended for no known reason' });
  }

  /** Returns the error of a call; if the gateway ended the call, the reason for that. */
  explain(thrown: unknown): AppError {
    const error = AppError.from(thrown);
    return this.isStopped && error.code === 'request_timeout' ? rephrased(this.reason, error) : error;
  }

  private readonly onEarlyEnd = (why: EarlyEnd): void => {
    this.isStopped = why === 'stopped';
    if (this.isStopped) this.abort.abort();
    else this.abort.leave();
  };
}
