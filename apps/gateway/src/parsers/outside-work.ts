import type { CallMemory } from '../http/fetched-bytes';

/** Who fetches and parses content from outside: whose shares and memory it takes, and when it stops. */
export interface OutsideWork {
  /** The narrowest first: a workspace, then its organization. */
  readonly holders: readonly string[];
  readonly memory: CallMemory;
  /** Aborted when the request has ended. */
  readonly signal: AbortSignal;
}
