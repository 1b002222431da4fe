/** Towards the server (`up`) or towards the client (`down`). */
export type Direction = 'up' | 'down';

/** What a link does to the bytes that cross it. The default is a healthy link. */
export interface LinkConditions {
  /** Time between reading bytes and passing them on. */
  readonly delayMs: number;
  /** Most bytes per second and direction; Infinity is no limit. */
  readonly bytesPerSecond: number;
  /** Most bytes per write; each piece leaves in a packet of its own. Infinity is no limit. */
  readonly sliceBytes: number;
  /** Directions in which bytes are read and not passed on: the peer looks alive and says nothing. */
  readonly stalled: readonly Direction[];
}

export const HEALTHY_LINK: LinkConditions = {
  delayMs: 0,
  bytesPerSecond: Infinity,
  sliceBytes: Infinity,
  stalled: [],
};
