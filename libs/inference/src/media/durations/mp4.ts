import type { MediaBytes } from '../media-bytes';
import { longestPacket, type MediaLength } from '../media-length';
import { configuredRate } from './aac-configuration';
import { boxesBetween, boxesIn, contentAt, onlyBox } from './boxes';
import { fragmentsOf, hasFragments, type Mp4Fragments } from './mp4-fragments';
import { mp4Samples, type Mp4Samples } from './mp4-samples';

/** A head of more is not read: it is that of two hours of AAC. */
const MOST_HEAD_BYTES = 2 * 1024 * 1024;
/** Five hours of those of two seconds. */
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
  audio.looked(movie.length);
  const header = contentAt(movie, 'mvhd');
  const seconds = header === null ? 0 : secondsOf(header);
  const fragments = fragmentsOf(audio, movie, boxes!);
  const tracks = fragments && tracksOf(movie, fragments);
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

function timescaleOf(header: Buffer): number {
  const at = header[0] === 1 ? 20 : 12;
  return header.length < at + 4 ? 0 : header.readUInt32BE(at);
}

interface Track {
  readonly seconds: number;
  /** Null where nothing bounds it. */
  readonly longest: number | null;
  readonly hasPictures: boolean;
}

/** Null where decoders may find other tracks, or other tables in them. */
function tracksOf(movie: Buffer, fragments: Mp4Fragments): readonly Track[] | null {
  const boxes = boxesIn(movie)?.filter(({ kind }) => kind === 'trak') ?? [];
  if (boxes.length === 0 || boxes.length > MOST_TRACKS || hasStrayTables(movie, boxes.length, fragments)) return null;
  const tracks = boxes.map(({ start, end }) => trackOf(movie.subarray(start, end), fragments));
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
const PLAYED: readonly string[] = ['vide', 'soun'];

/** Those of sound or pictures. Lists of titles and of files have one of another kind. */
function handlers(movie: Buffer): number {
  let count = 0;
  for (let at = movie.indexOf(HANDLER); at !== -1; at = movie.indexOf(HANDLER, at + 1)) {
    if (PLAYED.includes(movie.toString('latin1', at + 12, at + 16))) count += 1;
  }
  return count;
}

function countOf(bytes: Buffer, text: string): number {
  let count = 0;
  for (let at = bytes.indexOf(text); at !== -1; at = bytes.indexOf(text, at + 1)) count += 1;
  return count;
}

function trackOf(track: Buffer, fragments: Mp4Fragments): Track | null {
  const header = contentAt(track, 'mdia', 'mdhd');
  const handler = contentAt(track, 'mdia', 'hdlr');
  const tables = contentAt(track, 'mdia', 'minf', 'stbl');
  const inHead = tables && mp4Samples(tables, hasFragments(fragments));
  const samples = inHead && withFragments(inHead, fragments, idOf(track));
  const edits = editsOf(track);
  if (!header || !handler || !samples || edits === null) return null;
  const timed = samples.ticks / timescaleOf(header);
  if (!Number.isFinite(timed)) return null;
  const hasPictures = handler.toString('latin1', 8, 12) === 'vide';
  const { seconds, longest } = hasPictures ? { seconds: timed, longest: timed } : soundOf(samples, timed);
  return { seconds, longest: longest === null ? null : longest * edits, hasPictures };
}

function idOf(track: Buffer): number {
  const header = contentAt(track, 'tkhd');
  const at = header?.[0] === 1 ? 20 : 12;
  return header === null || header.length < at + 4 ? 0 : header.readUInt32BE(at);
}

function withFragments(samples: Mp4Samples, fragments: Mp4Fragments, id: number): Mp4Samples {
  const more = fragments.get(id);
  if (more === undefined) return samples;
  return { ...samples, count: samples.count + more.count, ticks: Math.max(samples.ticks + more.ticks, more.endTicks) };
}

/** How often a track may be played: each entry of the list of edits (§8.6.6) can name all of it. */
function editsOf(track: Buffer): number | null {
  const lists = countOf(track, 'elst');
  if (lists === 0) return 1;
  const list = lists === 1 ? contentAt(track, 'edts', 'elst') : null;
  return list === null || list.length < 8 ? null : Math.max(1, list.readUInt32BE(4));
}

/** Of AAC, whatever the table says how long its frames are shown. */
const SAMPLES_OF_FRAME = 1_024;
const AAC = 'mp4a';

/** Decoders go by what the frames hold. */
function soundOf({ count, entry }: Mp4Samples, timed: number): Pick<Track, 'seconds' | 'longest'> {
  const codec = entry.toString('latin1', 4, 8);
  const rate = codec === AAC && entry.length >= 36 ? slowestRate(entry) : 0;
  if (rate > 0) {
    const seconds = Math.max(timed, (count * SAMPLES_OF_FRAME) / rate);
    return { seconds, longest: seconds };
  }
  const packet = longestPacket(codec);
  return { seconds: timed, longest: packet === null ? null : Math.max(timed, count * packet) };
}

/** Decoders go by the configuration, some by the entry; 0 where the configuration is none of AAC. */
function slowestRate(entry: Buffer): number {
  const configured = configuredRate(entry);
  return Math.min(entry.readUInt16BE(32) || configured, configured);
}
