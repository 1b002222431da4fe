import { boxesIn, contentAt, onlyBox } from './boxes';

/** What the tables of a track say of its samples. */
export interface Mp4Samples {
  readonly count: number;
  readonly bytes: number;
  readonly ticks: number;
  /** How they are encoded; empty where several entries say it. */
  readonly entry: Buffer;
}

/**
 * Samples are those that have a size (ISO 14496-12 §8.7.3), with times (§8.6.1.2); the last time applies to the rest.
 *
 * @returns null for tables that are none
 */
export function mp4Samples(tables: Buffer, fileBytes: number): Mp4Samples | null {
  const times = contentAt(tables, 'stts');
  const entries = contentAt(tables, 'stsd');
  const sized = sizesOf(tables, fileBytes);
  const timed = times && timesOf(times);
  if (entries === null || entries.length < 16 || sized === null || timed === null) return null;
  const missing = Math.max(0, sized.count - timed.count);
  return {
    count: Math.max(sized.count, timed.count),
    bytes: sized.bytes,
    ticks: timed.ticks + missing * timed.last,
    entry: entries.readUInt32BE(4) === 1 ? entries.subarray(8) : Buffer.alloc(0),
  };
}

interface Times {
  readonly count: number;
  readonly ticks: number;
  readonly last: number;
}

function timesOf(table: Buffer): Times | null {
  const entries = table.length < 8 ? 0 : table.readUInt32BE(4);
  if (entries === 0 || table.length < 8 + entries * 8) return null;
  let count = 0;
  let ticks = 0;
  let last = 0;
  for (let at = 8; at < 8 + entries * 8; at += 8) {
    last = table.readUInt32BE(at + 4);
    count += table.readUInt32BE(at);
    ticks += table.readUInt32BE(at) * last;
  }
  // Samples of one tick are those of uncompressed sound: decoders count them by another table.
  return entries === 1 && last === 1 ? null : { count, ticks, last };
}

/** The compact table names no bytes, so that all of the file counts. */
function sizesOf(tables: Buffer, fileBytes: number): { readonly count: number; readonly bytes: number } | null {
  const box = onlyBox(boxesIn(tables), 'stsz', 'stz2');
  const table = box && tables.subarray(box.start, box.end);
  if (table === null || table.length < 12) return null;
  const count = table.readUInt32BE(8);
  if (box!.kind === 'stz2') return { count, bytes: fileBytes };
  const size = table.readUInt32BE(4);
  if (size > 0) return { count, bytes: count * size };
  const end = Math.min(table.length, 12 + count * 4) - 3;
  let bytes = 0;
  for (let at = 12; at < end; at += 4) bytes += table.readUInt32BE(at);
  return { count, bytes };
}
