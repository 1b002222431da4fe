import type { BatchSnapshot } from '@libs/contracts';

/** The statuses of the API, and `receiving`: the upload is still running, and the batch is not shown. */
export type BatchStatus = BatchSnapshot['status'] | 'receiving';

/** How a batch ends that does not run to its last line. */
export type BatchEnding = 'cancelled' | 'expired' | 'failed';

/**
 * `due`: a provider holds a batch that must be deleted there before ours is. `requested`: a worker is to do it
 * now. The others are the provider's answer; after `refused` it may be requested again.
 */
export type UpstreamDeletion = 'due' | 'requested' | 'deleted' | 'unsupported' | 'refused' | 'unreachable';
