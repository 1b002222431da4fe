/** Bytes of one index entry: length of its part of the file, duration, and whether a player can begin there. */
const ENTRY_BYTES = 12;

/** Returns when the last part in a segment index (ISO 14496-12 §8.16.3) ends, in seconds; 0 if the index is invalid. */
export function indexedSeconds(index: Buffer): number {
  const isLong = index[0] === 1;
  const countAt = isLong ? 30 : 22;
  if (index.length < countAt + 2) return 0;
  const timescale = index.readUInt32BE(8);
  const begin = isLong ? Number(index.readBigUInt64BE(12)) : index.readUInt32BE(12);
  const entries = Math.min(index.readUInt16BE(countAt), Math.floor((index.length - countAt - 2) / ENTRY_BYTES));
  let ticks = begin;
  for (let entry = 0; entry < entries; entry += 1) ticks += index.readUInt32BE(countAt + 2 + entry * ENTRY_BYTES + 4);
  return ticks / (timescale || 1);
}
