import { boxesIn, contentAt, onlyBox } from './boxes';

/** Facts about the samples of a track, from its tables. */
export interface Mp4Samples {
  readonly count: number;
  readonly ticks: number;
  /** The sample entry, which describes the encoding; empty if there are several. */
  readonly entry: Buffer;
}

/**
 * Reads the sample tables. Samples are those that have a size (ISO 14496-12 §8.7.3), with durations (§8.6.1.2); the
 * last duration applies to all remaining samples.
 * @param mayBeEmpty whether all samples may be in fragments
 * @returns null if the tables are invalid
 */
export function mp4Samples(tables: Buffer, mayBeEmpty: boolean): Mp4Samples | null {
  const times = contentAt(tables, 'stts');
  const entries = contentAt(tables, 'stsd');
  const sized = sizesOf(tables);
  const timed = times && timesOf(times, mayBeEmpty);
  const offset = spreadOfOffsets(tables);
  if (entries === null || entries.length < 16 || sized === null || timed === null || offset === null) return null;
  const missing = Math.max(0, sized - timed.count);
  return {
    count: Math.max(sized, timed.count),
    // Adds the offsets between decoding and display: pictures may be shown later or earlier than they are decoded.
    ticks: timed.ticks + missing * timed.last + offset,
    entry: entries.readUInt32BE(4) === 1 ? entries.subarray(8) : Buffer.alloc(0),
  };
}

interface Times {
  readonly count: number;
  readonly ticks: number;
  readonly last: number;
}

function timesOf(table: Buffer, mayBeEmpty: boolean): Times | null {
  const entries = table.length < 8 ? 0 : table.readUInt32BE(4);
  if ((entries === 0 && !mayBeEmpty) || table.length < 8 + entries * 8) return null;
  let count = 0;
  let ticks = 0;
  let last = 0;
  for (let at = 8; at < 8 + entries * 8; at += 8) {
    last = table.readUInt32BE(at + 4);
    count += table.readUInt32BE(at);
    ticks += table.readUInt32BE(at) * last;
  }
  // Samples of one tick are uncompressed sound, which decoders count by another table.
  return entries === 1 && last === 1 ? null : { count, ticks, last };
}

/** Returns how many samples have a size. */
function sizesOf(tables: Buffer): number | null {
  const box = onlyBox(boxesIn(tables), 'stsz', 'stz2');
  return box === null || box.end - box.start < 12 ? null : tables.readUInt32BE(box.start + 8);
}

/**
 * Returns the ticks between the earliest and the latest offset from decoding to composition (§8.6.1.3); null if the
 * table is invalid.
 */
function spreadOfOffsets(tables: Buffer): number | null {
  const boxes = boxesIn(tables)?.filter(({ kind }) => kind === 'ctts') ?? [];
  const [box] = boxes;
  if (box === undefined) return 0;
  const entries = box.end - box.start < 8 ? 0 : tables.readUInt32BE(box.start + 4);
  if (boxes.length > 1 || box.start + 8 + entries * 8 > box.end) return null;
  let earliest = 0;
  let latest = 0;
  for (let at = box.start + 8; at < box.start + 8 + entries * 8; at += 8) {
    const offset = tables.readInt32BE(at + 4);
    earliest = Math.min(earliest, offset);
    latest = Math.max(latest, offset);
  }
  return latest - earliest;
}
