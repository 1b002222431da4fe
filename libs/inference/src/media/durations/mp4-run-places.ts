import { boxesIn } from './boxes';
import type { FramePlaces } from './frame-places';
import { readRunTable, type RunHead } from './mp4-run';

/** What a track in a fragment needs to know of its surroundings. */
export interface RunPlace {
  /** Where the fragment begins in the file. */
  readonly fragmentStart: number;
  readonly isOnlyTrack: boolean;
  /** Of a sample, where the fragment states none. */
  readonly usualBytes: number;
}

interface FragmentOfTrack {
  readonly head: RunHead;
  readonly fragment: Buffer;
}

/** Adds where the samples are that a track has in one fragment. Where decoders may differ, the places are given up. */
export function addRunPlaces(places: FramePlaces, { head, fragment }: FragmentOfTrack, place: RunPlace): void {
  const base = baseOf(head, place);
  for (const { kind, start, end } of boxesIn(fragment) ?? []) {
    if (kind !== 'trun') continue;
    const isAdded =
      base !== null && addTable(places, fragment.subarray(start, end), base, head.bytes ?? place.usualBytes);
    if (!isAdded) places.giveUp();
  }
}

/** Null for a base that depends on the tracks before it. */
function baseOf({ base, isBaseFragment }: RunHead, { fragmentStart, isOnlyTrack }: RunPlace): number | null {
  return base ?? (isBaseFragment || isOnlyTrack ? fragmentStart : null);
}

/** Returns false for a table that does not say where its samples begin. */
function addTable(places: FramePlaces, box: Buffer, base: number, usualBytes: number): boolean {
  const table = readRunTable(box);
  if (table === null || table.offset === null) return false;
  let start = base + table.offset;
  for (let sample = 0; sample < table.count && !places.areGivenUp; sample += 1) {
    const bytes = table.bytesOf(sample) ?? usualBytes;
    places.add(start, bytes);
    start += bytes;
  }
  return true;
}
