import type { MediaBytes } from './media-bytes';
import { PCM_SAMPLE_BYTES, PCM_SAMPLE_RATE, type AudioFormat } from './audio-format';
import { flacSeconds } from './durations/flac';
import { mp4Length } from './durations/mp4';
import { adtsLength, mp3Length } from './durations/mpeg';
import { oggLength } from './durations/ogg';
import { waveLength } from './durations/wave';
import { webmLength } from './durations/webm';
import { UNKNOWN_LENGTH, type MediaLength } from './media-length';

/** Longer recordings count as this long: no model's context holds the tokens of a whole day. */
const LONGEST_SECONDS = 24 * 3_600;
/** Highest bit rate of any recording in the format. A stated length is ignored if the bytes would exceed this rate. */
const HIGHEST_BITRATES: Readonly<Record<AudioFormat, number>> = {
  // Eight channels of 32 bits at 192 kHz.
  wav: 8 * 32 * 192_000,
  pcm: Number.POSITIVE_INFINITY,
  mp3: 500_000,
  aac: 1_000_000,
  ogg: 1_000_000,
  webm: 10_000_000,
  m4a: 10_000_000,
  flac: 10_000_000,
};
const HIGHEST_FILM_BITRATE = 100_000_000;
/** Typical bit rate of speech in a lossy format, for recordings whose length is unknown. */
const USUAL_BITRATE = 64_000;

/** How long a recording is. */
export interface AudioLength {
  /** The longer of the length that the file states and the length that was counted; used for bills. */
  readonly seconds: number;
  /** The longest time that any decoder may play the file, at most a day; used for reservations. */
  readonly longest: number;
  readonly hasPictures: boolean;
  /** True if nothing in the file limits its length. */
  readonly isEstimated: boolean;
}

/** Returns the length of a recording without decoding it; `broken` if the file contradicts its own size. */
export function audioLength(audio: MediaBytes, format: AudioFormat): AudioLength | 'broken' {
  const found = measure(audio, format) ?? UNKNOWN_LENGTH;
  if (found === 'broken') return found;
  const { hasPictures } = found;
  const bits = audio.length * 8;
  const least = bits / (hasPictures ? HIGHEST_FILM_BITRATE : HIGHEST_BITRATES[format]);
  const isKnown = found.longest !== null && found.seconds > 0;
  const isEstimated = !isKnown || found.seconds < least;
  const seconds = Math.max(found.seconds, isKnown ? least : bits / USUAL_BITRATE);
  const longest = isEstimated ? LONGEST_SECONDS : Math.max(seconds, found.longest);
  return {
    seconds: Math.min(seconds, LONGEST_SECONDS),
    longest: Math.min(longest, LONGEST_SECONDS),
    hasPictures,
    isEstimated,
  };
}

function measure(audio: MediaBytes, format: AudioFormat): MediaLength | 'broken' | null {
  switch (format) {
    case 'wav':
      return waveLength(audio);
    case 'pcm':
      return counted(audio.length / (PCM_SAMPLE_BYTES * PCM_SAMPLE_RATE));
    case 'mp3':
      return mp3Length(audio);
    case 'aac':
      return adtsLength(audio);
    case 'flac':
      return counted(flacSeconds(audio));
    case 'ogg':
      return oggLength(audio);
    case 'm4a':
      return believed(mp4Length(audio));
    case 'webm':
      return believed(webmLength(audio));
  }
}

/** Returns a length whose `longest` equals the counted seconds, because decoders play exactly these. */
function counted(seconds: number | null): MediaLength | null {
  return seconds === null ? null : { seconds, longest: seconds, hasPictures: false };
}

/** Returns the length; null if it is more than a day, because such a length is not trusted. */
function believed(length: MediaLength | null): MediaLength | null {
  return length !== null && length.seconds > LONGEST_SECONDS ? null : length;
}
