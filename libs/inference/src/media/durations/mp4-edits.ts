import { contentAt, countOf } from './boxes';

export interface Edits {
  /** How many times a track may be played: each entry of the edit list (§8.6.6) can refer to the whole track. */
  readonly times: number;
  /** Seconds in which nothing is played or one picture is shown. */
  readonly stillSeconds: number;
}

const NO_EDITS: Edits = { times: 1, stillSeconds: 0 };
const EMPTY = -1;

/**
 * @param movieTimescale 0 counts as 1, as in decoders
 * @returns null if the edit list is invalid
 */
export function editsOf(track: Buffer, movieTimescale: number): Edits | null {
  const lists = countOf(track, 'elst');
  if (lists === 0) return NO_EDITS;
  const list = lists === 1 ? contentAt(track, 'edts', 'elst') : null;
  if (list === null || list.length < 8) return null;
  return { times: Math.max(1, list.readUInt32BE(4)), stillSeconds: stillTicks(list) / (movieTimescale || 1) };
}

function stillTicks(list: Buffer): number {
  const isLong = list[0] === 1;
  const entryBytes = isLong ? 20 : 12;
  const entries = Math.min(list.readUInt32BE(4), Math.floor((list.length - 8) / entryBytes));
  let ticks = 0;
  for (let at = 8; at < 8 + entries * entryBytes; at += entryBytes) {
    const start = isLong ? Number(list.readBigInt64BE(at + 8)) : list.readInt32BE(at + 4);
    const isSlow = list.readInt16BE(at + entryBytes - 4) === 0;
    if (start === EMPTY || isSlow) ticks += isLong ? Number(list.readBigUInt64BE(at)) : list.readUInt32BE(at);
  }
  return ticks;
}
