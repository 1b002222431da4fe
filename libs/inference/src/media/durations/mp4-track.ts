import { longestMp3 } from '../media-length';
import type { MediaBytes } from '../media-bytes';
import { AAC_RATES, codecOfMp4a, hasOtherConfiguration, type Mp4Codec } from './aac/configuration';
import type { FramePlaces } from './frame-places';
import { contentAt } from './boxes';
import { editsOf, type Edits } from './mp4-edits';
import { hasFragments, type Mp4Fragments } from './mp4-fragments';
import { samplePlaces } from './mp4-places';
import { mp4Samples, type Mp4Samples } from './mp4-samples';

/** Facts about a file that are needed to read its tracks. */
export interface Mp4File {
  readonly fragments: Mp4Fragments;
  readonly content: MediaBytes;
  /** Ticks in a second of the movie. */
  readonly timescale: number;
}

export interface Track {
  readonly seconds: number;
  /** Longest playing time in seconds; null if nothing limits it. */
  readonly longest: number | null;
  readonly hasPictures: boolean;
}

/** Handler types of tracks that are played: video and sound. */
const PLAYED: readonly string[] = ['vide', 'soun'];

/** Decoders read a signed number and replace one that is not positive by 1. */
const MOST_TIMESCALE = 0x7fff_ffff;

/** Returns the ticks per second that the header of a movie or a track states; 0 if it states no usable value. */
export function timescaleOf(header: Buffer): number {
  const at = header[0] === 1 ? 20 : 12;
  const timescale = header.length < at + 4 ? 0 : header.readUInt32BE(at);
  return timescale > MOST_TIMESCALE ? 0 : timescale;
}

/** Returns the facts about a track; null if its tables are unreliable. */
export function trackOf(track: Buffer, file: Mp4File): Track | null {
  const header = contentAt(track, 'mdia', 'mdhd');
  const handler = contentAt(track, 'mdia', 'hdlr');
  const samples = samplesOf(track, file.fragments);
  const edits = editsOf(track, file.timescale);
  if (!header || !handler || !samples || !edits || timescaleOf(header) === 0) return null;
  const timed = samples.ticks / timescaleOf(header);
  const kind = handler.toString('latin1', 8, 12);
  if (!isSure(track, kind, codecOf(samples))) return null;
  const hasPictures = kind === 'vide';
  // Titles, chapters and time codes are not played.
  if (!PLAYED.includes(kind) && NEVER_PLAYED.includes(codecOf(samples))) return NOTHING_PLAYED;
  const { seconds, longest } = hasPictures ? { seconds: timed, longest: timed } : soundOf(samples, timed, file.content);
  return { seconds, longest: edited(longest, edits), hasPictures };
}

function edited(longest: number | null, { times, stillSeconds }: Edits): number | null {
  return longest === null ? null : longest * times + stillSeconds;
}

/** Returns whether all decoders treat the track as the same kind. They differ in which of several handlers they use. */
function isSure(track: Buffer, kind: string, codec: string): boolean {
  const isPlayed = PLAYED.includes(kind);
  return playedHandlers(track) <= (isPlayed ? 1 : 0) && (kind !== 'vide' || PICTURE_CODECS.includes(codec));
}

function idOf(track: Buffer): number {
  const header = contentAt(track, 'tkhd');
  const at = header?.[0] === 1 ? 20 : 12;
  return header === null || header.length < at + 4 ? 0 : header.readUInt32BE(at);
}

interface TrackSamples extends Mp4Samples {
  /** Offsets of the frames; null if decoders may look for them elsewhere. */
  readonly places: () => FramePlaces | null;
}

/** Returns the samples of a track, both in the file's header and in all fragments. */
function samplesOf(track: Buffer, fragments: Mp4Fragments): TrackSamples | null {
  const tables = contentAt(track, 'mdia', 'minf', 'stbl');
  const samples = tables && mp4Samples(tables, hasFragments(fragments));
  const id = idOf(track);
  if (samples === null || (hasFragments(fragments) && id === 0)) return null;
  const places = (): FramePlaces | null => samplePlaces(tables!);
  const more = fragments.get(id);
  if (more === undefined) return { ...samples, places };
  return {
    ...samples,
    count: samples.count + more.count,
    ticks: Math.max(samples.ticks + more.ticks, more.endTicks),
    // Files with fragments have no samples outside of them, or few.
    places: () => places()?.with(more.places) ?? null,
  };
}

/** Codecs of videos: each sample is a picture. */
const PICTURE_CODECS: readonly string[] = [
  'avc1',
  'avc3',
  'hvc1',
  'hev1',
  'dvh1',
  'dvhe',
  'av01',
  'vp08',
  'vp09',
  'mp4v',
  's263',
  'jpeg',
  'apcn',
  'apch',
  'apcs',
  'apco',
  'ap4h',
];

function playedHandlers(track: Buffer): number {
  let count = 0;
  for (let at = track.indexOf('hdlr'); at !== -1; at = track.indexOf('hdlr', at + 1)) {
    if (PLAYED.includes(track.toString('latin1', at + 12, at + 16))) count += 1;
  }
  return count;
}

const NOTHING_PLAYED: Track = { seconds: 0, longest: 0, hasPictures: false };
/** Codecs that are never played. Decoders may go by the codec, whatever kind of track it is. */
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

/** Samples in an AAC frame, whatever duration the table states for a frame. */
const SAMPLES_OF_FRAME = 1_024;

const MP3 = '.mp3';
const OPUS = 'Opus';
const LONGEST_OPUS_SECONDS = 0.12;

/**
 * Returns how long a sound track plays. Decoders play all frames inside a sample: AAC frames are checked, Opus and MP3
 * have an upper limit per sample, and with any other codec `longest` is null.
 */
function soundOf(samples: TrackSamples, timed: number, file: MediaBytes): Pick<Track, 'seconds' | 'longest'> {
  const { count, entry } = samples;
  const codec = codecOf(samples);
  const told = codec === 'mp4a' && entry.length >= 36 ? codecOfMp4a(entry) : null;
  if (told?.kind === 'aac') return aacOf(samples, timed, { rateCode: told.rateCode, file });
  const isOpus = codec === OPUS && !hasOtherConfiguration(entry, 'dOps');
  const longest = isOpus ? count * LONGEST_OPUS_SECONDS : longestMp3InSamples(samples, told);
  return { seconds: timed, longest: longest === null ? null : Math.max(timed, longest) };
}

function aacOf(
  { count, entry, places }: TrackSamples,
  timed: number,
  { rateCode, file }: { readonly rateCode: number; readonly file: MediaBytes },
): Pick<Track, 'seconds' | 'longest'> {
  // Most decoders use the sample rate of the configuration, some that of the entry. The lower rate gives the longer
  // time.
  const configured = AAC_RATES[rateCode]!;
  const rate = Math.min(entry.readUInt16BE(32) || configured, configured);
  const seconds = Math.max(timed, (count * SAMPLES_OF_FRAME) / rate);
  return { seconds, longest: places()?.areBlocks(file, rateCode) === true ? seconds : null };
}

/** A sample may hold several frames, and several samples may be the same bytes of the file. */
function longestMp3InSamples(samples: TrackSamples, told: Mp4Codec | null): number | null {
  const isNamed = codecOf(samples) === MP3 && !hasOtherConfiguration(samples.entry, MP3);
  const found = isNamed || told?.kind === 'mp3' ? samples.places() : null;
  return found === null || found.areGivenUp ? null : longestMp3(found.bytes);
}
