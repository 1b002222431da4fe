import { AppError } from '@libs/errors';
import type { CancelSignal } from '@libs/inference';
import { isRefusedForItsData, sqlStateOf } from '@libs/persistence';

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5_000;

/**
 * Repeats a write of facts that only this process knows until PostgreSQL answers. A write that failed may have
 * happened, so it must be safe to repeat. After `signal` it is tried once more.
 *
 * @param onFailure called with the first failure
 * @throws the error of the last try after `signal`; at once an error that PostgreSQL would repeat or that is not
 * PostgreSQL's
 */
export async function untilWritten<T>(
  write: () => Promise<T>,
  signal: CancelSignal,
  onFailure: (error: unknown) => void,
): Promise<T> {
  for (let failures = 0; ; failures += 1) {
    const isLast = signal.aborted;
    try {
      return await write();
    } catch (error) {
      if (isLast || !mayPass(error)) throw error;
      if (failures === 0) onFailure(error);
    }
    await unlessAborted(signal, Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(failures, 10)));
  }
}

function mayPass(error: unknown): boolean {
  return error instanceof AppError || (sqlStateOf(error) !== null && !isRefusedForItsData(error));
}

function unlessAborted(signal: CancelSignal, ms: number): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end, { once: true });
  });
}
