import type { AppName } from './parties';

/**
 * All queues. Both ends declare a queue from this place, so its arguments cannot differ.
 *
 * A call queue is classic and its messages are transient: an unanswered request is worthless after its timeout. A job
 * queue is a quorum queue with persistent messages, an explicit delivery limit and a dead queue `<name>.dead`. A job
 * whose handler threw is not sent again: each job names a row that its app's sweeper finds.
 *
 * Messages reach a queue through an exchange, so that the broker can permit one without the others: call queues through
 * `<owner>.calls`; a job queue with its dead queue through an exchange with its own name.
 */
export interface QueueSpec {
  readonly name: string;
  readonly kind: 'call' | 'job';
  /** The app that takes its messages. */
  readonly owner: AppName;
  /** Messages one consumer process works on at a time. */
  readonly prefetch: number;
  /** Job queues: deliveries that may crash their consumer before the broker puts the message aside. */
  readonly deliveryLimit?: number;
}

const jobDefaults = { kind: 'job', deliveryLimit: 5 } as const;

export const queues = {
  auth: { name: 'auth', kind: 'call', owner: 'auth', prefetch: 50 },
  credentials: { name: 'credentials', kind: 'call', owner: 'credentials', prefetch: 50 },
  // A separate queue, so that requests about revoked keys do not wait behind many others.
  authChanges: { name: 'auth-changes', kind: 'call', owner: 'auth', prefetch: 50 },
  credentialsChanges: { name: 'credentials-changes', kind: 'call', owner: 'credentials', prefetch: 50 },
  // A separate queue, because an exchange fetches the keys of an issuer, whose host may delay it. Most of the time is
  // spent waiting for that.
  authExchanges: { name: 'auth-exchanges', kind: 'call', owner: 'auth', prefetch: 400 },
  batches: { name: 'batch-jobs', ...jobDefaults, owner: 'batch-worker', prefetch: 8 },
  videos: { name: 'video-jobs', ...jobDefaults, owner: 'video-worker', prefetch: 8 },
  webhooks: { name: 'webhook-jobs', ...jobDefaults, owner: 'video-worker', prefetch: 8 },
} as const satisfies Record<string, QueueSpec>;

/** The apps with an outbox. Each relays the rows that its login sees: with one login for all apps, the jobs of all. */
export const JOB_SENDERS: readonly AppName[] = ['gateway', 'batch-worker', 'video-worker'];
