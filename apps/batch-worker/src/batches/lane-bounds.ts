/** A claim ends with the segment that brings it to so many lines; of batches of one line it takes many segments. */
export const CLAIM_LINES = 512;
export const CLAIM_SEGMENTS = 64;
/** Full segments of 128 lines in a claim. */
export const LEAST_CLAIMED = 4;
/** Outcomes per slot that are committed at once. */
export const FULL_GROUP_PER_SLOT = 4;
/**
 * Outcomes per slot that are not committed yet, above which no line is begun: a group in commit and one that gathers.
 * A worker that dies repeats so many calls at most, beside those in flight.
 */
export const UNCOMMITTED_PER_SLOT = 2 * FULL_GROUP_PER_SLOT;
