import type { MediaBytes } from '../media-bytes';
import { longestOfBytes, longestPacket, type MediaLength } from '../media-length';
import { configuredRate } from './aac-configuration';
import { boxesBetween, boxesIn, contentAt, onlyBox } from './boxes';
import { mp4Samples, type Mp4Samples } from './mp4-samples';

/** A head of more is not read: it is that of two hours of AAC. */
const MOST_HEAD_BYTES = 2 * 1024 * 1024;
const MOST_TRACKS = 32;
/** What a head leaves out at the start and the end of sound, of frames that are counted whole. */
const MOST_CUT_SECONDS = 0.25;

/**
 * The length of an MP4 file (ISO 14496-12): what the header of the movie says, unless its tracks say more. A file in
 * fragments has no more than that.
 */
export function mp4Length(audio: MediaBytes): MediaLength | null {
  const boxes = boxesBetween((start, end) => audio.slice(start, end), 0, audio.length);
  const box = onlyBox(boxes, 'moov');
  if (box === null || box.end - box.start > MOST_HEAD_BYTES) return null;
  const movie = audio.slice(box.start, box.end);
  const header = contentAt(movie, 'mvhd');
  const seconds = header === null ? 0 : secondsOf(header);
  const isFragmented = boxes!.some(({ kind }) => kind === 'moof');
  const tracks = isFragmented ? null : tracksOf(movie, audio.length);
  if (tracks === null) return { seconds, longest: null, hasPictures: false };
  const counted = Math.max(...tracks.map((track) => track.seconds));
  return {
    seconds: counted > seconds + MOST_CUT_SECONDS || seconds === 0 ? counted : seconds,
    longest: Math.max(seconds, ...tracks.map((track) => track.longest)),
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
  readonly longest: number;
  readonly hasPictures: boolean;
}

/** Null where decoders may find other tracks, or other tables in them. */
function tracksOf(movie: Buffer, fileBytes: number): readonly Track[] | null {
  const boxes = boxesIn(movie)?.filter(({ kind }) => kind === 'trak') ?? [];
  if (boxes.length === 0 || boxes.length > MOST_TRACKS || hasStrayTables(movie, boxes.length)) return null;
  const tracks = boxes.map(({ start, end }) => trackOf(movie.subarray(start, end), fileBytes));
  return tracks.every((track) => track !== null) ? tracks : null;
}

/** Each track has one of each. Some decoders also read those in other places, or the last of several. */
const TABLES = ['trak', 'mdhd', 'hdlr', 'stsd', 'stts', 'stsz', 'stz2'];
/** Tables of fragments, and a compressed head within the head. */
const NEVER = ['mvex', 'cmov'];

function hasStrayTables(movie: Buffer, tracks: number): boolean {
  return NEVER.some((kind) => movie.includes(kind)) || TABLES.some((kind) => countOf(movie, kind) > tracks);
}

function countOf(bytes: Buffer, text: string): number {
  let count = 0;
  for (let at = bytes.indexOf(text); at !== -1; at = bytes.indexOf(text, at + 1)) count += 1;
  return count;
}

function trackOf(track: Buffer, fileBytes: number): Track | null {
  const header = contentAt(track, 'mdia', 'mdhd');
  const handler = contentAt(track, 'mdia', 'hdlr');
  const tables = contentAt(track, 'mdia', 'minf', 'stbl');
  const samples = tables && mp4Samples(tables, fileBytes);
  const edits = editsOf(track);
  if (!header || !handler || !samples || edits === null) return null;
  const timed = samples.ticks / timescaleOf(header);
  if (!Number.isFinite(timed)) return null;
  const hasPictures = handler.toString('latin1', 8, 12) === 'vide';
  const { seconds, longest } = hasPictures ? { seconds: timed, longest: timed } : soundOf(samples, timed);
  return { seconds, longest: longest * edits, hasPictures };
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
const OPUS = 'Opus';

/** Decoders go by what the frames hold. */
function soundOf({ count, bytes, entry }: Mp4Samples, timed: number): { seconds: number; longest: number } {
  const codec = entry.toString('latin1', 4, 8);
  const rate = codec === AAC && entry.length >= 36 ? slowestRate(entry) : 0;
  if (rate > 0) {
    const seconds = Math.max(timed, (count * SAMPLES_OF_FRAME) / rate);
    return { seconds, longest: seconds };
  }
  const byBytes = codec === OPUS ? 0 : longestOfBytes(bytes);
  return { seconds: timed, longest: Math.max(timed, byBytes, count * longestPacket(codec)) };
}

/** Decoders go by the configuration, some by the entry; 0 where the configuration is none of AAC. */
function slowestRate(entry: Buffer): number {
  const configured = configuredRate(entry);
  return Math.min(entry.readUInt16BE(32) || configured, configured);
}
