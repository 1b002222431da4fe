/** Fields in the header of a track in a fragment (ISO 14496-12 §8.8.7): their flags, in the order of the fields. */
const BASE = 0x01;
const DESCRIPTION = 0x02;
const TICKS = 0x08;
const BYTES = 0x10;
const BASE_IS_FRAGMENT = 0x02_0000;

export interface RunHead {
  readonly track: number;
  /**
   * Offset in the file from which sample positions count; null if it is the fragment's start or the end of earlier
   * samples.
   */
  readonly base: number | null;
  readonly isBaseFragment: boolean;
  /** Duration of a sample in ticks; null if it is stated elsewhere. */
  readonly ticks: number | null;
  readonly bytes: number | null;
}

/**
 * Returns the fields of a run's header; null if it is shorter than they are, because decoders would continue to read
 * after it.
 */
export function readRunHead(head: Buffer): RunHead | null {
  if (head.length < 8) return null;
  const flags = head.readUInt32BE(0);
  let end = 8;
  const take = (flag: number, width: 4 | 8): number | null => {
    if ((flags & flag) === 0) return null;
    end += width;
    if (end > head.length) return null;
    return width === 8 ? Number(head.readBigUInt64BE(end - width)) : head.readUInt32BE(end - width);
  };
  const base = take(BASE, 8);
  take(DESCRIPTION, 4);
  const ticks = take(TICKS, 4);
  const bytes = take(BYTES, 4);
  if (end > head.length) return null;
  return { track: head.readUInt32BE(4), base, isBaseFragment: (flags & BASE_IS_FRAGMENT) !== 0, ticks, bytes };
}

/** Fields of a sample table (§8.8.8): those before the samples, and those of each sample in order. */
const OFFSET = 0x01;
const FIRST_FLAGS = 0x04;
const SAMPLE_TICKS = 0x100;
const SAMPLE_BYTES = 0x200;
const SAMPLE_FLAGS = 0x400;
const SAMPLE_LATE = 0x800;

export interface RunTable {
  readonly count: number;
  /** Offset of the first sample from the base; null if the table does not state it. */
  readonly offset: number | null;
  readonly statesTicks: boolean;
  readonly statesLate: boolean;
  /** Returns the duration of a sample in ticks; null if the table does not state it. */
  ticksOf(sample: number): number | null;
  bytesOf(sample: number): number | null;
  /** Ticks from decoding to composition. */
  lateOf(sample: number): number;
}

/** Returns the table of a run's samples; null if it has fewer samples than it states. */
export function readRunTable(table: Buffer): RunTable | null {
  if (table.length < 8) return null;
  const flags = table.readUInt32BE(0);
  const count = table.readUInt32BE(4);
  const first = 8 + widthOf(flags, OFFSET, FIRST_FLAGS);
  const width = widthOf(flags, SAMPLE_TICKS, SAMPLE_BYTES, SAMPLE_FLAGS, SAMPLE_LATE);
  if (table.length < first + count * width) return null;
  const has = (flag: number): boolean => (flags & flag) !== 0;
  const placeOf = (sample: number, ...before: readonly number[]): number =>
    first + sample * width + widthOf(flags, ...before);
  return {
    count,
    offset: has(OFFSET) ? table.readInt32BE(8) : null,
    statesTicks: has(SAMPLE_TICKS),
    statesLate: has(SAMPLE_LATE),
    ticksOf: (sample) => (has(SAMPLE_TICKS) ? table.readUInt32BE(placeOf(sample)) : null),
    bytesOf: (sample) => (has(SAMPLE_BYTES) ? table.readUInt32BE(placeOf(sample, SAMPLE_TICKS)) : null),
    lateOf: (sample) =>
      has(SAMPLE_LATE) ? table.readInt32BE(placeOf(sample, SAMPLE_TICKS, SAMPLE_BYTES, SAMPLE_FLAGS)) : 0,
  };
}

/** Returns the number of bytes of the fields that are present, four each. */
function widthOf(flags: number, ...fields: readonly number[]): number {
  return 4 * fields.filter((field) => (flags & field) !== 0).length;
}
