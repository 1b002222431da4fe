/** A batch as its owner sees it. Times in Unix seconds. */
export interface BatchSnapshot {
  readonly id: string;
  readonly endpoint: string;
  /** The model as the caller sent it. */
  readonly model: string;
  readonly completionWindow: string;
  readonly status:
    | 'validating'
    | 'in_progress'
    | 'finalizing'
    | 'completed'
    | 'failed'
    | 'expired'
    | 'cancelling'
    | 'cancelled';
  readonly createdAt: number;
  readonly finalizedAt: number | null;
  /** When its window ends: what has not run by then expires. */
  readonly expiresAt: number;
  readonly total: number;
  readonly completed: number;
  readonly failed: number;
  readonly usage: object | null;
  readonly errorMessage: string | null;
}

/** Returns the batch object with `results: null`, for lists and webhooks. */
export function toBatchObject(batch: BatchSnapshot): object {
  return {
    id: batch.id,
    object: 'batch',
    endpoint: batch.endpoint,
    model: batch.model,
    completion_window: batch.completionWindow,
    status: batch.status,
    created_at: batch.createdAt,
    finalized_at: batch.finalizedAt,
    expires_at: batch.expiresAt,
    request_counts: { total: batch.total, completed: batch.completed, failed: batch.failed },
    usage: batch.usage,
    error: batch.errorMessage === null ? null : { message: batch.errorMessage },
    results: null,
  };
}
