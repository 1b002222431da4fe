import type { MediaBytes } from '../media-bytes';
import { FramePlaces } from './frame-places';
import { boxesIn, contentAt, onlyBox, type Box } from './boxes';
import { readRunHead, readRunTable, type RunHead } from './mp4-run';
import { addRunPlaces } from './mp4-run-places';
import { hasStrayBoxes } from './mp4-strays';

/** The samples of a track in all fragments. */
interface FragmentedTrack {
  readonly count: number;
  readonly ticks: number;
  /** End of the last sample, by the times that the fragments state. */
  readonly endTicks: number;
  readonly places: FramePlaces;
}

/** Fragments by track number; empty for a file without fragments. */
export type Mp4Fragments = ReadonlyMap<number, FragmentedTrack>;

/** Longer fragment headers are not read. An hour of AAC in one fragment has a header of this length. */
const MOST_HEAD_BYTES = 2 * 1024 * 1024;

export function hasFragments(fragments: Mp4Fragments): boolean {
  return fragments.size > 0;
}

/** Adds up the fragments of a movie (ISO 14496-12 §8.8). @returns null if decoders may read them differently */
export function fragmentsOf(file: MediaBytes, movie: Buffer, boxes: readonly Box[]): Mp4Fragments | null {
  const tracks = new Map<number, FragmentedTrack>();
  const usual = usualOf(movie);
  if (usual === null) return null;
  for (const [at, box] of boxes.entries()) {
    if (box.kind !== 'moof') continue;
    const runs = runsIn(headOf(file, box), usual);
    if (runs === null) return null;
    const place = { fragmentStart: at === 0 ? 0 : boxes[at - 1]!.end, isOnlyTrack: runs.length === 1 };
    for (const run of runs) {
      const { track } = run.head;
      const before = tracks.get(track) ?? { count: 0, ticks: 0, endTicks: 0, places: new FramePlaces() };
      addRunPlaces(before.places, run, { ...place, usualBytes: usual.get(track)?.bytes ?? 0 });
      tracks.set(track, sumOf(before, run));
    }
  }
  return tracks;
}

function sumOf({ count, ticks, endTicks, places }: FragmentedTrack, run: Run): FragmentedTrack {
  return {
    count: count + run.count,
    ticks: ticks + run.ticks,
    endTicks: Math.max(endTicks, run.startTicks + run.ticks),
    places,
  };
}

/** Returns the header of a fragment; null if the fragment has boxes in unexpected places. */
function headOf(file: MediaBytes, { start, end }: Box): Buffer | null {
  if (end - start > MOST_HEAD_BYTES) return null;
  const content = file.slice(start, end);
  file.countPlaces(content.length);
  return content.length < end - start || hasStrayBoxes('moof', content) ? null : content;
}

interface UsualSample {
  readonly ticks: number;
  readonly bytes: number;
}

/** Default sample values by track, for fragments that state none; null if a track has several defaults. */
function usualOf(movie: Buffer): ReadonlyMap<number, UsualSample> | null {
  const defaults = contentAt(movie, 'mvex');
  const boxes = (defaults && boxesIn(defaults)) ?? [];
  const tables = boxes.filter(({ kind }) => kind === 'trex');
  if (tables.some(({ start, end }) => end - start < 20)) return null;
  const usual = new Map(
    tables.map(({ start }) => [
      defaults!.readUInt32BE(start + 4),
      { ticks: defaults!.readUInt32BE(start + 12), bytes: defaults!.readUInt32BE(start + 16) },
    ]),
  );
  return usual.size === tables.length ? usual : null;
}

interface Run {
  readonly head: RunHead;
  /** Everything that the fragment contains about the track. */
  readonly fragment: Buffer;
  readonly count: number;
  readonly ticks: number;
  readonly startTicks: number;
}

function runsIn(fragment: Buffer | null, usual: ReadonlyMap<number, UsualSample>): readonly Run[] | null {
  if (fragment === null) return null;
  const boxes = boxesIn(fragment)?.filter(({ kind }) => kind === 'traf') ?? null;
  const runs = boxes?.map(({ start, end }) => runOf(fragment.subarray(start, end), usual)) ?? null;
  return runs === null || runs.length === 0 || runs.includes(null) ? null : (runs as readonly Run[]);
}

/** Reads one track in a fragment: a header with default values, and tables of samples. */
function runOf(fragment: Buffer, usual: ReadonlyMap<number, UsualSample>): Run | null {
  const boxes = boxesIn(fragment);
  const headBox = contentOf(fragment, onlyBox(boxes, 'tfhd'));
  const head = headBox && readRunHead(headBox);
  if (boxes === null || head === null) return null;
  const each = ticksOf(head, usual);
  const tables = boxes.filter(({ kind }) => kind === 'trun').map((box) => tableOf(contentOf(fragment, box)!, each));
  const times = boxes.filter(({ kind }) => kind === 'tfdt');
  const startTicks = times.length > 1 ? null : startOf(contentOf(fragment, times[0] ?? null));
  if (tables.includes(null) || startTicks === null) return null;
  const count = tables.reduce((sum, table) => sum + table!.count, 0);
  const latest = Math.max(0, ...tables.map((table) => table!.latestOffset));
  const offset = latest - Math.min(0, ...tables.map((table) => table!.earliestOffset));
  const ticks = tables.reduce((sum, table) => sum + table!.ticks, offset);
  return { head, fragment, count, ticks, startTicks };
}

/** Duration of a sample in ticks, if tables state none. */
function ticksOf({ ticks, track }: RunHead, usual: ReadonlyMap<number, UsualSample>): number {
  return ticks ?? usual.get(track)?.ticks ?? 0;
}

function contentOf(within: Buffer, box: Box | null): Buffer | null {
  return box && within.subarray(box.start, box.end);
}

interface SampleTable {
  readonly count: number;
  readonly ticks: number;
  /** Earliest offset from decoding to composition, in ticks. */
  readonly earliestOffset: number;
  readonly latestOffset: number;
}

/** @param each duration of a sample in ticks, if the table states none */
function tableOf(box: Buffer, each: number): SampleTable | null {
  const table = readRunTable(box);
  if (table === null) return null;
  const { count, statesTicks, statesLate } = table;
  if (!statesTicks && !statesLate) return { count, ticks: count * each, earliestOffset: 0, latestOffset: 0 };
  let ticks = 0;
  let earliestOffset = 0;
  let latestOffset = 0;
  for (let sample = 0; sample < count; sample += 1) {
    ticks += table.ticksOf(sample) ?? each;
    const offset = table.lateOf(sample);
    earliestOffset = Math.min(earliestOffset, offset);
    latestOffset = Math.max(latestOffset, offset);
  }
  return { count, ticks, earliestOffset, latestOffset };
}

/** Returns the start time that a fragment states; 0 if it states none, null if its form is unknown. */
function startOf(time: Buffer | null): number | null {
  if (time === null) return 0;
  const [version] = time;
  if (version === 0 && time.length >= 8) return time.readUInt32BE(4);
  return version === 1 && time.length >= 12 ? Number(time.readBigUInt64BE(4)) : null;
}
