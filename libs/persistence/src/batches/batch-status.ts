import type { BatchSnapshot } from '@libs/contracts';

/** The statuses of the API, and `receiving`: the upload is still running, and the batch is not shown. */
export type BatchStatus = BatchSnapshot['status'] | 'receiving';

/** How a batch ends if it does not run to its last line. */
export type BatchEnding = 'cancelled' | 'expired' | 'failed';

/**
 * `due`: a provider stores data of a batch that must be deleted there before ours. `requested`: a worker must do it
 * now. The other values are the provider's answer; after `refused` it may be requested again.
 */
export type UpstreamDeletion = 'due' | 'requested' | 'deleted' | 'unsupported' | 'refused' | 'unreachable';
