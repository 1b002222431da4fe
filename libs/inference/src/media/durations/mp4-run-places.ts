import { boxesIn } from './boxes';
import type { FramePlaces } from './frame-places';
import { readRunTable, type RunHead } from './mp4-run';

/** Context of a track in a fragment that is needed to find its samples. */
export interface RunPlace {
  /** Offset of the fragment in the file. */
  readonly fragmentStart: number;
  readonly isOnlyTrack: boolean;
  /** Bytes of a sample, if the fragment states none. */
  readonly usualBytes: number;
}

interface FragmentOfTrack {
  readonly head: RunHead;
  readonly fragment: Buffer;
}

/**
 * Adds the offsets of the samples that a track has in one fragment. If decoders may differ, the offsets are marked as
 * unreliable.
 */
export function addRunPlaces(places: FramePlaces, { head, fragment }: FragmentOfTrack, place: RunPlace): void {
  const base = baseOf(head, place);
  for (const { kind, start, end } of boxesIn(fragment) ?? []) {
    if (kind !== 'trun') continue;
    const isAdded =
      base !== null && addTable(places, fragment.subarray(start, end), base, head.bytes ?? place.usualBytes);
    if (!isAdded) places.giveUp();
  }
}

/** Returns the offset from which a run's data is addressed; null if it depends on the tracks before this one. */
function baseOf({ base, isBaseFragment }: RunHead, { fragmentStart, isOnlyTrack }: RunPlace): number | null {
  return base ?? (isBaseFragment || isOnlyTrack ? fragmentStart : null);
}

/** Returns false if the table does not say where its samples begin. */
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
