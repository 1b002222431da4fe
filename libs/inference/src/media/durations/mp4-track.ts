import { longestMp3, longestOfPackets } from '../media-length';
import { configuredRate } from './aac-configuration';
import { contentAt } from './boxes';
import { editsOf } from './mp4-edits';
import { hasFragments, type Mp4Fragments } from './mp4-fragments';
import { mp4Samples, type Mp4Samples } from './mp4-samples';

/** What a track needs to know of its file. */
export interface Mp4File {
  readonly fragments: Mp4Fragments;
  readonly bytes: number;
  /** Ticks in a second of the movie. */
  readonly timescale: number;
}

export interface Track {
  readonly seconds: number;
  /** Null where nothing bounds it. */
  readonly longest: number | null;
  readonly hasPictures: boolean;
}

/** Handlers of tracks that are seen or heard. */
export const PLAYED: readonly string[] = ['vide', 'soun'];

/** Decoders read a number with a sign, and take one that is not positive for 1. */
const MOST_TIMESCALE = 0x7fff_ffff;

/** Returns the ticks in a second that the head of a movie or a track states; 0 where it states none that is usable. */
export function timescaleOf(header: Buffer): number {
  const at = header[0] === 1 ? 20 : 12;
  const timescale = header.length < at + 4 ? 0 : header.readUInt32BE(at);
  return timescale > MOST_TIMESCALE ? 0 : timescale;
}

/** Null for a track whose tables cannot be relied on. */
export function trackOf(track: Buffer, file: Mp4File): Track | null {
  const header = contentAt(track, 'mdia', 'mdhd');
  const handler = contentAt(track, 'mdia', 'hdlr');
  const samples = samplesOf(track, file.fragments);
  const edits = editsOf(track, file.timescale);
  if (!header || !handler || !samples || !edits || timescaleOf(header) === 0) return null;
  const timed = samples.ticks / timescaleOf(header);
  const kind = handler.toString('latin1', 8, 12);
  const hasPictures = kind === 'vide';
  // Titles, chapters and time codes are neither seen nor heard.
  if (!PLAYED.includes(kind) && NEVER_PLAYED.includes(codecOf(samples))) return NOTHING_PLAYED;
  const { seconds, longest } = hasPictures ? { seconds: timed, longest: timed } : soundOf(samples, timed, file.bytes);
  return { seconds, longest: longest === null ? null : longest * edits.times + edits.stillSeconds, hasPictures };
}

function idOf(track: Buffer): number {
  const header = contentAt(track, 'tkhd');
  const at = header?.[0] === 1 ? 20 : 12;
  return header === null || header.length < at + 4 ? 0 : header.readUInt32BE(at);
}

/** Returns the samples of a track in the head and in all fragments. */
function samplesOf(track: Buffer, fragments: Mp4Fragments): Mp4Samples | null {
  const tables = contentAt(track, 'mdia', 'minf', 'stbl');
  const samples = tables && mp4Samples(tables, hasFragments(fragments));
  const id = idOf(track);
  if (samples === null || (hasFragments(fragments) && id === 0)) return null;
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
