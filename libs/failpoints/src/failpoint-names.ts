/**
 * Every place at which tests can make a process die, named for what has happened before it. docs/failpoints.md says
 * where each is and what would have happened next.
 */
export const FAILPOINTS = [
  'batch-stored',
  'batch-accepted',
  'call-covered',
  'stream-begun',
  'call-answered',
  'outbox-selected',
  'job-published',
  'outbox-confirmed',
  'batch-nudged',
  'line-leased',
  'line-answered',
  'results-committed',
  'job-handled',
  'batch-finalizing',
  'batch-completed',
  'video-submitted',
  'video-fetched',
  'webhook-sent',
  'data-keys-rewrapped',
  'credential-erased',
  'token-id-claimed',
  'upstream-batch-removed',
  'batch-table-purged',
] as const;

export type Failpoint = (typeof FAILPOINTS)[number];
