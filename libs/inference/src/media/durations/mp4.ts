import type { MediaBytes } from '../media-bytes';
import { longestMp3, longestOfPackets, type MediaLength } from '../media-length';
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
/** What a track needs to know of its file. */
interface Mp4File {
  readonly fragments: Mp4Fragments;
  readonly bytes: number;
  /** Ticks in a second of the movie. */
  readonly timescale: number;
}

function tracksOf(movie: Buffer, file: Mp4File): readonly Track[] | null {
  const boxes = boxesIn(movie)?.filter(({ kind }) => kind === 'trak') ?? [];
  if (boxes.length === 0 || boxes.length > MOST_TRACKS || hasStrayTables(movie, boxes.length, file.fragments))
    return null;
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

function trackOf(track: Buffer, file: Mp4File): Track | null {
  const { fragments } = file;
  const header = contentAt(track, 'mdia', 'mdhd');
  const handler = contentAt(track, 'mdia', 'hdlr');
  const tables = contentAt(track, 'mdia', 'minf', 'stbl');
  const inHead = tables && mp4Samples(tables, hasFragments(fragments));
  const samples = inHead && withFragments(inHead, fragments, idOf(track));
  const edits = editsOf(track, file.timescale);
  if (!header || !handler || !samples || edits === null) return null;
  if (hasFragments(fragments) && idOf(track) === 0) return null;
  const timed = samples.ticks / timescaleOf(header);
  if (!Number.isFinite(timed)) return null;
  const kind = handler.toString('latin1', 8, 12);
  const hasPictures = kind === 'vide';
  // Titles, chapters and time codes are neither seen nor heard.
  if (!PLAYED.includes(kind) && NEVER_PLAYED.includes(codecOf(samples))) return NOTHING_PLAYED;
  const { seconds, longest } = hasPictures ? { seconds: timed, longest: timed } : soundOf(samples, timed, file.bytes);
  return { seconds, longest: longest === null ? null : longest * edits.times + edits.emptySeconds, hasPictures };
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

const NOTHING_PLAYED: Track = { seconds: 0, longest: 0, hasPictures: false };
/** Whatever a track says that it is, decoders may go by its codec. */
const NEVER_PLAYED: readonly string[] = [
  'tmcd',
  'text',
  'tx3g',
  'mebx',
  'gpmd',
  'rtp ',
  'c608',
  'c708',
  'wvtt',
  'stpp',
];

function codecOf({ entry }: Mp4Samples): string {
  return entry.toString('latin1', 4, 8);
}

interface Edits {
  /** How often a track may be played: each entry of the list of edits (§8.6.6) can name all of it. */
  readonly times: number;
  /** In which nothing is played. */
  readonly emptySeconds: number;
}

const NO_EDITS: Edits = { times: 1, emptySeconds: 0 };
const EMPTY = -1;

function editsOf(track: Buffer, movieTimescale: number): Edits | null {
  const lists = countOf(track, 'elst');
  if (lists === 0) return NO_EDITS;
  const list = lists === 1 ? contentAt(track, 'edts', 'elst') : null;
  if (list === null || list.length < 8) return null;
  const isLong = list[0] === 1;
  const entryBytes = isLong ? 20 : 12;
  const entries = Math.min(list.readUInt32BE(4), Math.floor((list.length - 8) / entryBytes));
  let ticks = 0;
  for (let at = 8; at < 8 + entries * entryBytes; at += entryBytes) {
    const start = isLong ? Number(list.readBigInt64BE(at + 8)) : list.readInt32BE(at + 4);
    if (start === EMPTY) ticks += isLong ? Number(list.readBigUInt64BE(at)) : list.readUInt32BE(at);
  }
  return { times: Math.max(1, list.readUInt32BE(4)), emptySeconds: movieTimescale === 0 ? 0 : ticks / movieTimescale };
}

/** Of AAC, whatever the table says how long its frames are shown. */
const SAMPLES_OF_FRAME = 1_024;
const AAC = 'mp4a';

/** Decoders go by what the frames hold. */
function soundOf(samples: Mp4Samples, timed: number, fileBytes: number): Pick<Track, 'seconds' | 'longest'> {
  const { count, entry } = samples;
  const codec = codecOf(samples);
  const rate = codec === AAC && entry.length >= 36 ? slowestRate(entry) : 0;
  if (rate > 0) {
    const seconds = Math.max(timed, (count * SAMPLES_OF_FRAME) / rate);
    return { seconds, longest: seconds };
  }
  const packets = longestOfPackets(codec, count, fileBytes);
  // The entry of AAC may name another codec, of which MP3 is the one with packets of any length.
  const most = packets === null || codec !== AAC ? packets : Math.max(packets, longestMp3(fileBytes));
  return { seconds: timed, longest: most === null ? null : Math.max(timed, most) };
}

/** Decoders go by the configuration, some by the entry; 0 where the configuration is none of AAC. */
function slowestRate(entry: Buffer): number {
  const configured = configuredRate(entry);
  return Math.min(entry.readUInt16BE(32) || configured, configured);
}
