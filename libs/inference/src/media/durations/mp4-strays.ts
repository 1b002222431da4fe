import { boxesIn, countOf } from './boxes';

/** The boxes that state how long a file plays, by their parent box. */
const PLACES: Readonly<Record<string, readonly string[]>> = {
  moov: ['mvhd', 'trak', 'mvex'],
  trak: ['tkhd', 'mdia', 'edts'],
  edts: ['elst'],
  mdia: ['mdhd', 'minf'],
  minf: ['stbl'],
  stbl: ['stsd', 'stts', 'ctts', 'stsz', 'stz2', 'stsc', 'stco', 'co64'],
  mvex: ['trex'],
  moof: ['traf'],
  traf: ['tfhd', 'tfdt', 'trun'],
};
/** `cmov` is a compressed head. */
const NAMES: readonly string[] = ['moov', 'moof', 'cmov', ...Object.values(PLACES).flat()];

/**
 * Returns whether one of these boxes may be outside its parent box. Decoders differ in where they look for boxes: some
 * read them inside any box that they know.
 * @param kind of the box with this content; empty for a box that must contain none of them
 */
export function hasStrayBoxes(kind: string, content: Buffer): boolean {
  const found = new Map<string, number>();
  walk(kind, content, found);
  return NAMES.some((name) => countOf(content, name) > (found.get(name) ?? 0));
}

function walk(kind: string, content: Buffer, found: Map<string, number>): void {
  const places = Object.hasOwn(PLACES, kind) ? PLACES[kind]! : [];
  for (const box of (places.length === 0 ? null : boxesIn(content)) ?? []) {
    if (!places.includes(box.kind)) continue;
    found.set(box.kind, (found.get(box.kind) ?? 0) + 1);
    walk(box.kind, content.subarray(box.start, box.end), found);
  }
}
