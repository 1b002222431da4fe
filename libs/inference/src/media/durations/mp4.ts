import type { MediaBytes } from '../media-bytes';
import type { MediaLength } from '../media-length';
import { boxesBetween, boxesIn, contentAt, countOf, onlyBox } from './boxes';
import { fragmentsOf, hasFragments, type Mp4Fragments } from './mp4-fragments';
import { PLAYED, timescaleOf, trackOf, type Mp4File, type Track } from './mp4-track';

/** Longer heads are not read: two hours of AAC have this one. */
const MOST_HEAD_BYTES = 2 * 1024 * 1024;
/** Five hours, in fragments of two seconds. */
const MOST_FRAGMENTS = 10_000;
const MOST_TRACKS = 32;
/** What a head leaves out at the start and the end of sound, of frames that are counted whole. */
const MOST_CUT_SECONDS = 0.25;

/**
 * The length of an MP4 file (ISO 14496-12): what the header of the movie says, unless its tracks say more, with their
 * fragments.
 */
export function mp4Length(audio: MediaBytes): MediaLength | null {
  const boxes = boxesBetween((start, end) => audio.slice(start, end), 0, audio.length, MOST_FRAGMENTS);
  const box = onlyBox(boxes, 'moov');
  if (box === null || box.end - box.start > MOST_HEAD_BYTES) return null;
  const movie = audio.slice(box.start, box.end);
  audio.countPlaces(movie.length);
  const header = contentAt(movie, 'mvhd');
  const seconds = header === null ? 0 : secondsOf(header);
  const fragments = fragmentsOf(audio, movie, boxes!);
  const tracks =
    fragments && tracksOf(movie, { fragments, bytes: audio.length, timescale: header ? timescaleOf(header) : 0 });
  if (tracks === null) return { seconds, longest: null, hasPictures: false };
  const counted = Math.max(...tracks.map((track) => track.seconds));
  const longest = tracks.map((track) => track.longest);
  return {
    seconds: counted > seconds + MOST_CUT_SECONDS || seconds === 0 ? counted : seconds,
    longest: longest.includes(null) ? null : Math.max(seconds, ...longest.map(Number)),
    hasPictures: tracks.some((track) => track.hasPictures),
  };
}

/** Of the head of a movie or a track; 0 where it does not say it. */
function secondsOf(header: Buffer): number {
  const isLong = header[0] === 1;
  if (header.length < (isLong ? 32 : 20)) return 0;
  const timescale = timescaleOf(header);
  const duration = isLong ? Number(header.readBigUInt64BE(24)) : header.readUInt32BE(16);
  return timescale === 0 || duration >= 0xffff_ffff ? 0 : duration / timescale;
}

/** Null where decoders may find other tracks, or other tables in them. */
function tracksOf(movie: Buffer, file: Mp4File): readonly Track[] | null {
  const boxes = boxesIn(movie)?.filter(({ kind }) => kind === 'trak') ?? [];
  const isUsual = boxes.length > 0 && boxes.length <= MOST_TRACKS;
  if (!isUsual || hasStrayTables(movie, boxes.length, file.fragments)) return null;
  const tracks = boxes.map(({ start, end }) => trackOf(movie.subarray(start, end), file));
  return tracks.every((track) => track !== null) ? tracks : null;
}

/** Each track has one of each. Some decoders also read those in other places, or the last of several. */
const TABLES = ['trak', 'mdhd', 'stsd', 'stts', 'stsz', 'stz2'];
/** A compressed head within the head. */
const COMPRESSED = 'cmov';

function hasStrayTables(movie: Buffer, tracks: number, fragments: Mp4Fragments): boolean {
  if (movie.includes(COMPRESSED) || countOf(movie, 'mvex') > (hasFragments(fragments) ? 1 : 0)) return true;
  return TABLES.some((kind) => countOf(movie, kind) > tracks) || handlers(movie) > tracks;
}

const HANDLER = 'hdlr';

/** Those of sound or pictures. Lists of titles and of files have one of another kind. */
function handlers(movie: Buffer): number {
  let count = 0;
  for (let at = movie.indexOf(HANDLER); at !== -1; at = movie.indexOf(HANDLER, at + 1)) {
    if (PLAYED.includes(movie.toString('latin1', at + 12, at + 16))) count += 1;
  }
  return count;
}
