import type { CallMemory } from '../http/fetched-bytes';

/** The context of downloading and parsing external content: whose slots and memory it uses, and when it stops. */
export interface OutsideWork {
  /** The narrowest first: a workspace, then its organization. */
  readonly holders: readonly string[];
  readonly memory: CallMemory;
  /** Aborted when the request has ended. */
  readonly signal: AbortSignal;
}
