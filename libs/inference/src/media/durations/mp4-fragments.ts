import type { MediaBytes } from '../media-bytes';
import { boxesIn, contentAt, onlyBox, type Box } from './boxes';
import { hasStrayBoxes } from './mp4-strays';

/** The samples of a track in all fragments. */
interface FragmentedTrack {
  readonly count: number;
  readonly ticks: number;
  /** When the last of them ends, by the times that fragments state. */
  readonly endTicks: number;
}

/** By the number of the track; empty for a file without fragments. */
export type Mp4Fragments = ReadonlyMap<number, FragmentedTrack>;

/** Longer heads of fragments are not read: an hour of AAC in one fragment has this one. */
const MOST_HEAD_BYTES = 2 * 1024 * 1024;
const NO_SAMPLES: FragmentedTrack = { count: 0, ticks: 0, endTicks: 0 };

export function hasFragments(fragments: Mp4Fragments): boolean {
  return fragments.size > 0;
}

/** Adds up the fragments of a movie (ISO 14496-12 §8.8). @returns null where decoders may read them in other ways */
export function fragmentsOf(file: MediaBytes, movie: Buffer, boxes: readonly Box[]): Mp4Fragments | null {
  const tracks = new Map<number, FragmentedTrack>();
  const usual = usualTicks(movie);
  if (usual === null) return null;
  for (const { kind, start, end } of boxes) {
    if (kind !== 'moof') continue;
    if (end - start > MOST_HEAD_BYTES) return null;
    const content = file.slice(start, end);
    file.countPlaces(content.length);
    if (content.length < end - start || hasStrayBoxes('moof', content)) return null;
    const runs = runsIn(content, usual);
    if (runs === null) return null;
    for (const { id, ...run } of runs) {
      const before = tracks.get(id) ?? NO_SAMPLES;
      const endTicks = Math.max(before.endTicks, run.startTicks + run.ticks);
      tracks.set(id, { count: before.count + run.count, ticks: before.ticks + run.ticks, endTicks });
    }
  }
  return tracks;
}

/** Ticks of a sample of each track, where a fragment states none; null where a track has several. */
function usualTicks(movie: Buffer): ReadonlyMap<number, number> | null {
  const defaults = contentAt(movie, 'mvex');
  const boxes = (defaults && boxesIn(defaults)) ?? [];
  const tables = boxes.filter(({ kind, start, end }) => kind === 'trex' && end - start >= 16);
  const usual = new Map(
    tables.map(({ start }) => [defaults!.readUInt32BE(start + 4), defaults!.readUInt32BE(start + 12)]),
  );
  return usual.size === tables.length ? usual : null;
}

interface Run {
  readonly id: number;
  readonly count: number;
  readonly ticks: number;
  readonly startTicks: number;
}

function runsIn(fragment: Buffer, usual: ReadonlyMap<number, number>): readonly Run[] | null {
  const boxes = boxesIn(fragment)?.filter(({ kind }) => kind === 'traf') ?? null;
  const runs = boxes?.map(({ start, end }) => runOf(fragment.subarray(start, end), usual)) ?? null;
  return runs === null || runs.length === 0 || runs.includes(null) ? null : (runs as readonly Run[]);
}

/** One track in a fragment: a head with what is usual in it, and tables of samples. */
function runOf(fragment: Buffer, usual: ReadonlyMap<number, number>): Run | null {
  const boxes = boxesIn(fragment);
  const head = contentOf(fragment, onlyBox(boxes, 'tfhd'));
  if (boxes === null || head === null || head.length < 8) return null;
  const id = head.readUInt32BE(4);
  const each = ownTicks(head) ?? usual.get(id) ?? 0;
  const tables = boxes.filter(({ kind }) => kind === 'trun').map((box) => tableOf(contentOf(fragment, box)!, each));
  const times = boxes.filter(({ kind }) => kind === 'tfdt');
  const startTicks = times.length > 1 ? null : startOf(contentOf(fragment, times[0] ?? null));
  if (tables.includes(null) || startTicks === null) return null;
  const count = tables.reduce((sum, table) => sum + table!.count, 0);
  const latest = Math.max(0, ...tables.map((table) => table!.latestOffset));
  const offset = latest - Math.min(0, ...tables.map((table) => table!.earliestOffset));
  const ticks = tables.reduce((sum, table) => sum + table!.ticks, offset);
  return { id, count, ticks, startTicks };
}

function contentOf(within: Buffer, box: Box | null): Buffer | null {
  return box && within.subarray(box.start, box.end);
}

const HAS_OFFSET = 0x01;
const HAS_DESCRIPTION = 0x02;
const HAS_TICKS = 0x08;

/** Ticks of a sample, where the head of a fragment states them. */
function ownTicks(head: Buffer): number | null {
  const flags = head.readUInt32BE(0);
  if ((flags & HAS_TICKS) === 0) return null;
  const at = 8 + (flags & HAS_OFFSET ? 8 : 0) + (flags & HAS_DESCRIPTION ? 4 : 0);
  return head.length < at + 4 ? null : head.readUInt32BE(at);
}

/** Fields of a table in front of its samples, and of each sample. */
const IN_FRONT = 0x01 | 0x04;
const OF_SAMPLES = 0x100 | 0x200 | 0x400 | 0x800;
const STATES_TICKS = 0x100;
const STATES_OFFSET = 0x800;

interface SampleTable {
  readonly count: number;
  readonly ticks: number;
  /** From decoding to composition, in ticks. */
  readonly earliestOffset: number;
  readonly latestOffset: number;
}

function tableOf(table: Buffer, each: number): SampleTable | null {
  if (table.length < 8) return null;
  const flags = table.readUInt32BE(0);
  const count = table.readUInt32BE(4);
  const states = flags & (STATES_TICKS | STATES_OFFSET);
  if (states === 0) return { count, ticks: count * each, earliestOffset: 0, latestOffset: 0 };
  const first = 8 + 4 * bits(flags & IN_FRONT);
  const bytes = 4 * bits(flags & OF_SAMPLES);
  if (table.length < first + count * bytes) return null;
  let ticks = flags & STATES_TICKS ? 0 : count * each;
  let earliestOffset = 0;
  let latestOffset = 0;
  for (let at = first; at < first + count * bytes; at += bytes) {
    if (flags & STATES_TICKS) ticks += table.readUInt32BE(at);
    // It is the last field of a sample.
    const offset = flags & STATES_OFFSET ? table.readInt32BE(at + bytes - 4) : 0;
    earliestOffset = Math.min(earliestOffset, offset);
    latestOffset = Math.max(latestOffset, offset);
  }
  return { count, ticks, earliestOffset, latestOffset };
}

function bits(flags: number): number {
  let count = 0;
  for (let left = flags; left !== 0; left &= left - 1) count += 1;
  return count;
}

/** When a fragment starts, by its own word: 0 without one, null for one in an unknown form. */
function startOf(time: Buffer | null): number | null {
  if (time === null) return 0;
  const [version] = time;
  if (version === 0 && time.length >= 8) return time.readUInt32BE(4);
  return version === 1 && time.length >= 12 ? Number(time.readBigUInt64BE(4)) : null;
}
