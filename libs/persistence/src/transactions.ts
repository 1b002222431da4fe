import { sqlStateOf } from './session';

/** PostgreSQL says: somebody else was first, the same transaction may be tried again. */
const RETRYABLE_STATES = new Set(['40001', '40P01']);
const MAX_TRANSACTION_ATTEMPTS = 3;

/** Runs a transaction, and again after a serialization failure or a deadlock; three times at most. */
export async function retried<T>(transaction: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await transaction();
    } catch (error) {
      if (attempt >= MAX_TRANSACTION_ATTEMPTS || !RETRYABLE_STATES.has(sqlStateOf(error) ?? '')) throw error;
    }
  }
}
