import type { MediaBytes } from '../media-bytes';
import type { MediaLength } from '../media-length';
import { boxesBetween, boxesIn, contentAt, onlyBox, type Box } from './boxes';
import { fragmentsOf } from './mp4-fragments';
import { indexedSeconds } from './mp4-index';
import { hasStrayBoxes } from './mp4-strays';
import { timescaleOf, trackOf, type Mp4File, type Track } from './mp4-track';

/** Longer headers are not read. Two hours of AAC have a header of this length. */
const MOST_HEAD_BYTES = 2 * 1024 * 1024;
/** Five hours, in fragments of two seconds. */
const MOST_FRAGMENTS = 10_000;
const MOST_TRACKS = 32;
/**
 * Most seconds that a header may leave out because frames at the start and end are played in part, but counted whole.
 */
const MOST_CUT_SECONDS = 0.25;

/**
 * Returns the length of an MP4 file (ISO 14496-12): the length in the movie header, or that of its tracks and their
 * fragments if it is longer.
 */
export function mp4Length(audio: MediaBytes): MediaLength | null {
  const boxes = boxesBetween((start, end) => audio.slice(start, end), 0, audio.length, MOST_FRAGMENTS);
  const box = onlyBox(boxes, 'moov');
  if (boxes === null || box === null || box.end - box.start > MOST_HEAD_BYTES) return null;
  const movie = audio.slice(box.start, box.end);
  audio.countPlaces(movie.length);
  const header = contentAt(movie, 'mvhd') ?? NO_HEADER;
  const seconds = secondsOf(header);
  const fragments = fragmentsOf(audio, movie, boxes);
  const file = fragments && { fragments, content: audio, timescale: timescaleOf(header) };
  const tracks = file && tracksOf(movie, file);
  const indexed = indexedSecondsOf(audio, boxes);
  if (tracks === null || indexed === null) return { seconds, longest: null, hasPictures: false };
  return lengthOf(tracks, seconds, indexed);
}

const NO_HEADER = Buffer.alloc(0);

/** @param stated seconds that the movie header states */
function lengthOf(tracks: readonly Track[], stated: number, indexed: number): MediaLength {
  const counted = Math.max(...tracks.map((track) => track.seconds));
  const longest = tracks.map((track) => track.longest);
  return {
    seconds: counted > stated + MOST_CUT_SECONDS || stated === 0 ? counted : stated,
    longest: longest.includes(null) ? null : Math.max(stated, indexed, ...longest.map(Number)),
    hasPictures: tracks.some((track) => track.hasPictures),
  };
}

/** Boxes that are read elsewhere, or that contain no boxes. */
const KNOWN: readonly string[] = ['mdat', 'moov', 'moof'];
/** Most bytes of boxes other than sound, pictures and headers. */
const MOST_OTHER_BYTES = 1024 * 1024;

/**
 * Returns when the last sample ends according to the indexes of the file; null if its other boxes may hide further
 * ones.
 */
function indexedSecondsOf(file: MediaBytes, boxes: readonly Box[]): number | null {
  let bytes = 0;
  let seconds = 0;
  for (const { kind, start, end } of boxes) {
    if (KNOWN.includes(kind)) continue;
    bytes += end - start;
    if (bytes > MOST_OTHER_BYTES) return null;
    const content = file.slice(start, end);
    file.countPlaces(content.length);
    if (content.length < end - start || hasStrayBoxes('', content)) return null;
    if (kind === 'sidx') seconds = Math.max(seconds, indexedSeconds(content));
  }
  return seconds;
}

/** Returns the duration that the header of a movie or track states; 0 if it states none. */
function secondsOf(header: Buffer): number {
  const isLong = header[0] === 1;
  if (header.length < (isLong ? 32 : 20)) return 0;
  const timescale = timescaleOf(header);
  const duration = isLong ? Number(header.readBigUInt64BE(24)) : header.readUInt32BE(16);
  return timescale === 0 || duration >= 0xffff_ffff ? 0 : duration / timescale;
}

/** Returns the tracks of a movie; null if decoders may find other tracks, or other tables in the tracks. */
function tracksOf(movie: Buffer, file: Mp4File): readonly Track[] | null {
  const boxes = boxesIn(movie)?.filter(({ kind }) => kind === 'trak') ?? [];
  const isUsual = boxes.length > 0 && boxes.length <= MOST_TRACKS;
  if (!isUsual || hasStrayBoxes('moov', movie)) return null;
  const tracks = boxes.map(({ start, end }) => trackOf(movie.subarray(start, end), file));
  return tracks.every((track) => track !== null) ? tracks : null;
}
