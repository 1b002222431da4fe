import type { AppError } from '@libs/errors';
import { isCancelled } from '../model/cancellation';
import { isUpstreamFault } from '../wire/upstream-fault';
import { notedRefusal, type Refusal } from '../wire/upstream-refusal';

/**
 * How a call to an endpoint ended. `cut`: its stream broke off after it had begun; `abandoned`: its caller
 * disconnected; `own_fault`: it failed in this process.
 */
export type AttemptEnd = 'ok' | Refusal | 'cut' | 'abandoned' | 'own_fault';

/** Returns how a call ended that failed before its answer began. */
export function endOfFailure(error: AppError): AttemptEnd {
  if (isCancelled(error)) return 'abandoned';
  if (!isUpstreamFault(error)) return 'own_fault';
  const refusal = notedRefusal(error);
  if (refusal !== null) return refusal;
  return error.code === 'timeout' ? 'timeout' : 'down';
}

/** Returns how a stream ended after it had begun; `error` is null if it did not fail. */
export function endOfStream(isCancelledByCaller: boolean, error: AppError | null): AttemptEnd {
  if (isCancelledByCaller) return 'abandoned';
  if (error === null) return 'ok';
  return isUpstreamFault(error) ? 'cut' : endOfFailure(error);
}

/** Returns the outcome to show to callers. Problems with the operator's account are hidden. */
export function endForCaller(end: AttemptEnd): AttemptEnd {
  return end === 'refused_account' ? 'down' : end;
}
