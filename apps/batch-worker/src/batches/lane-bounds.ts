/** A claim takes segments until it has this many lines; of one-line batches it takes many segments. */
export const CLAIM_LINES = 512;
export const CLAIM_SEGMENTS = 64;
/** Full segments of 128 lines in a claim. */
export const LEAST_CLAIMED = 4;
/** Number of outcomes per slot that are committed together. */
export const FULL_GROUP_PER_SLOT = 4;
/**
 * Most uncommitted outcomes per slot; no line begins above it. Allows one group in commit and one being collected. If a
 * worker dies, at most this many calls per slot are repeated, in addition to those in flight.
 */
export const UNCOMMITTED_PER_SLOT = 2 * FULL_GROUP_PER_SLOT;
