import type { MediaBytes } from '../media-bytes';
import { configuredRate } from './aac-configuration';

/** Boxes of one level that are looked at. */
const MOST_BOXES = 1_000;

interface Box {
  readonly start: number;
  readonly end: number;
}

/** The length of an MP4 file in seconds, as its movie header says (ISO 14496-12 §8.2.2); null where it does not. */
export function mp4Seconds(audio: MediaBytes): number | null {
  const movie = findBox(audio, 'moov', { start: 0, end: audio.length });
  const header = movie && findBox(audio, 'mvhd', movie);
  if (!header) return null;
  const fields = audio.slice(header.start, header.start + 32);
  const isLong = fields[0] === 1;
  if (fields.length < (isLong ? 32 : 20)) return null;
  const timescale = fields.readUInt32BE(isLong ? 20 : 12);
  const duration = isLong ? Number(fields.readBigUInt64BE(24)) : fields.readUInt32BE(16);
  return timescale === 0 || duration === 0 || duration >= 0xffff_ffff ? null : duration / timescale;
}

/** What an MP4 file says of its length, in each of the places where it does. */
export interface Mp4Length {
  /** The longest of what the movie and its tracks say. */
  readonly seconds: number;
  readonly hasPictures: boolean;
}

const MOST_TRACKS = 32;
/** Entries of a table of times that are read: writers have one for sound, and one for each change of pace of a film. */
const MOST_ENTRIES = 100_000;

/**
 * Returns the longest of what the header of the movie, the headers of its tracks and their tables of samples say; null
 * for a file in fragments or without these.
 */
export function mp4Length(audio: MediaBytes): Mp4Length | null {
  const file = { start: 0, end: audio.length };
  const movie = findBox(audio, 'moov', file);
  if (movie === null || findBox(audio, 'moof', file) !== null || findBox(audio, 'mvex', movie) !== null) return null;
  let seconds = mp4Seconds(audio) ?? 0;
  let hasPictures = false;
  let rest: Box = movie;
  for (let count = 0; count < MOST_TRACKS; count += 1) {
    const track = findBox(audio, 'trak', rest);
    if (track === null) return seconds === 0 ? null : { seconds, hasPictures };
    rest = { start: track.end, end: movie.end };
    const found = trackLength(audio, track);
    if (found === null) return null;
    seconds = Math.max(seconds, found.seconds);
    hasPictures ||= found.hasPictures;
  }
  return null;
}

/** What a head leaves out at the start and the end of sound, of frames that are counted whole. */
const MOST_CUT_SECONDS = 0.25;

/** The length in seconds: what the movie header says, unless its tracks say more. */
export function mp4Longest(audio: MediaBytes): number | null {
  const stated = mp4Seconds(audio);
  const longest = mp4Length(audio)?.seconds ?? stated;
  return stated === null || longest === null || longest > stated + MOST_CUT_SECONDS ? longest : stated;
}

function trackLength(audio: MediaBytes, track: Box): Mp4Length | null {
  const header = findPath(audio, ['mdia', 'mdhd'], track);
  const handler = findPath(audio, ['mdia', 'hdlr'], track);
  const samples = findPath(audio, ['mdia', 'minf', 'stbl'], track);
  if (header === null || handler === null || samples === null) return null;
  const timescale = timescaleOf(audio.slice(header.start, header.start + 32));
  const isSound = audio.slice(handler.start + 8, handler.start + 12).toString('latin1') === 'soun';
  const timed = samplesOf(audio, samples);
  if (timescale === 0 || timed === null) return null;
  const decoded = isSound ? (timed.count * SAMPLES_OF_FRAME) / rateOf(audio, samples) : 0;
  const seconds = Math.max(timed.ticks / timescale, decoded);
  return { seconds, hasPictures: !isSound };
}

/** Of AAC, whatever the table says how long its frames are shown. */
const SAMPLES_OF_FRAME = 1_024;
const AAC = 'mp4a';
/** So much of an entry is looked at. */
const ENTRY_BYTES = 256;

/**
 * The slower of the sample rates that the entry of AAC and its configuration state: decoders go by the configuration.
 * Infinity for other sound, which has a table of times only.
 */
function rateOf(audio: MediaBytes, samples: Box): number {
  const entries = findBox(audio, 'stsd', samples);
  const entry = entries && audio.slice(entries.start + 8, Math.min(entries.end, entries.start + 8 + ENTRY_BYTES));
  if (!entry || entry.length < 36 || entry.toString('latin1', 4, 8) !== AAC) return Number.POSITIVE_INFINITY;
  return Math.min(entry.readUInt16BE(32) || Number.POSITIVE_INFINITY, configuredRate(entry));
}

function timescaleOf(header: Buffer): number {
  const at = header[0] === 1 ? 20 : 12;
  return header.length < at + 4 ? 0 : header.readUInt32BE(at);
}

function samplesOf(audio: MediaBytes, within: Box): { readonly ticks: number; readonly count: number } | null {
  const table = findBox(audio, 'stts', within);
  if (table === null) return null;
  const bytes = audio.slice(table.start, Math.min(table.end, table.start + 8 + MOST_ENTRIES * 8));
  const entries = bytes.length < 8 ? 0 : bytes.readUInt32BE(4);
  if (entries === 0 || bytes.length < 8 + entries * 8) return null;
  let ticks = 0;
  let count = 0;
  for (let at = 8; at < 8 + entries * 8; at += 8) {
    count += bytes.readUInt32BE(at);
    ticks += bytes.readUInt32BE(at) * bytes.readUInt32BE(at + 4);
  }
  return { ticks, count };
}

function findPath(audio: MediaBytes, kinds: readonly string[], within: Box): Box | null {
  return kinds.reduce<Box | null>((box, kind) => box && findBox(audio, kind, box), within);
}

/** What a box of this kind holds. */
function findBox(audio: MediaBytes, kind: string, within: Box): Box | null {
  let position = within.start;
  for (let count = 0; count < MOST_BOXES && position + 8 <= within.end; count += 1) {
    const head = audio.slice(position, position + 16);
    const { headBytes, bytes } = sizeOf(head, within.end - position);
    const end = position + bytes;
    if (bytes < headBytes || end > within.end) return null;
    if (head.toString('latin1', 4, 8) === kind) return { start: position + headBytes, end };
    position = end;
  }
  return null;
}

/** Of a box with its head; one that says nothing goes on to the end. */
function sizeOf(head: Buffer, left: number): { readonly headBytes: number; readonly bytes: number } {
  const size = head.length < 8 ? -1 : head.readUInt32BE(0);
  if (size === 1) return { headBytes: 16, bytes: head.length < 16 ? -1 : Number(head.readBigUInt64BE(8)) };
  return { headBytes: 8, bytes: size === 0 ? left : size };
}
