/**
 * Every place at which a process can be made to die, named for what has happened by then. docs/failpoints.md says
 * where each is and what would have come next.
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
