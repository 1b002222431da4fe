import type { CallMemory } from '../http/fetched-bytes';

/** For whom content from outside is fetched and parsed, from what memory, and until when. */
export interface OutsideWork {
  /** The narrowest first: a workspace, then its organization. */
  readonly holders: readonly string[];
  readonly memory: CallMemory;
  /** Aborted when nobody waits for the content any more. */
  readonly signal: AbortSignal;
}
