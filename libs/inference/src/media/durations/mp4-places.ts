import { FramePlaces } from './frame-places';
import { boxesIn, onlyBox, type Box } from './boxes';

/** The tables of a track that say how many samples each chunk has and where chunks begin (ISO 14496-12 §8.7). */
interface Chunks {
  readonly count: number;
  startOf(chunk: number): number;
  /** Returns the number of samples in a chunk. Must be called for the chunks in order. */
  samplesOf(chunk: number): number;
}

/** Returns the offsets of a track's samples outside fragments; null if the tables do not determine them. */
export function samplePlaces(tables: Buffer): FramePlaces | null {
  const sizes = sizesOf(tables);
  if (sizes === null) return null;
  const places = new FramePlaces();
  if (sizes.count === 0) return places;
  const chunks = chunksOf(tables);
  if (chunks === null) return null;
  let sample = 0;
  for (let chunk = 0; chunk < chunks.count && sample < sizes.count; chunk += 1) {
    let start = chunks.startOf(chunk);
    const end = Math.min(sizes.count, sample + chunks.samplesOf(chunk));
    for (; sample < end; sample += 1) {
      places.add(start, sizes.of(sample));
      start += sizes.of(sample);
    }
  }
  return places;
}

interface Sizes {
  readonly count: number;
  of(sample: number): number;
}

/** Most samples that are read. */
const MOST_SAMPLES = 600_000;

function sizesOf(tables: Buffer): Sizes | null {
  const box = onlyBox(boxesIn(tables), 'stsz');
  if (box === null || box.end - box.start < 12) return null;
  const each = tables.readUInt32BE(box.start + 4);
  const count = tables.readUInt32BE(box.start + 8);
  if (count > MOST_SAMPLES) return null;
  if (each > 0) return { count, of: () => each };
  const first = box.start + 12;
  return first + count * 4 > box.end ? null : { count, of: (sample) => tables.readUInt32BE(first + sample * 4) };
}

function chunksOf(tables: Buffer): Chunks | null {
  const boxes = boxesIn(tables);
  const offsets = onlyBox(boxes, 'stco', 'co64');
  const starts = offsets && tableOf(tables, offsets, offsets.kind === 'stco' ? 4 : 8);
  const runBox = onlyBox(boxes, 'stsc');
  const runs = runBox && tableOf(tables, runBox, 12);
  if (starts === null || runs === null || !areInOrder(runs)) return null;
  let run = 0;
  return {
    count: starts.count,
    startOf: (chunk) => starts.number(chunk),
    samplesOf: (chunk) => {
      while (run + 1 < runs.count && runs.number(run + 1, 0, 4) <= chunk + 1) run += 1;
      return runs.number(run, 4, 4);
    },
  };
}

interface Table {
  readonly count: number;
  /** Returns a number of an entry; the first `bits` of it if given. */
  number(entry: number, from?: number, bytes?: 4): number;
}

/** Returns a table that begins with a version and the number of its entries; null if these are missing. */
function tableOf(tables: Buffer, { start, end }: Box, bytes: 4 | 8 | 12): Table | null {
  const count = end - start < 8 ? 0 : tables.readUInt32BE(start + 4);
  const first = start + 8;
  if (count === 0 || first + count * bytes > end) return null;
  return {
    count,
    number: (entry, from = 0, width) => {
      const at = first + entry * bytes + from;
      return (width ?? bytes) === 8 ? Number(tables.readBigUInt64BE(at)) : tables.readUInt32BE(at);
    },
  };
}

/**
 * Returns whether the runs of chunks begin with the first chunk, and each run with a later chunk than the one before.
 */
function areInOrder(runs: Table): boolean {
  if (runs.number(0, 0, 4) !== 1) return false;
  for (let run = 1; run < runs.count; run += 1) {
    if (runs.number(run, 0, 4) <= runs.number(run - 1, 0, 4)) return false;
  }
  return true;
}
