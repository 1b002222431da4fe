import type { MediaBytes } from './media-bytes';
import { audioLength } from './audio-duration';
import { AUDIO_FORMATS, looksLike, type AudioFormat } from './audio-format';
import { mp4Length } from './durations/mp4';
import { adtsRun, mp3Run, type FrameRun } from './durations/mpeg';
import { hasPlainSamples } from './durations/wave';
import { webmLongest } from './durations/webm';

/**
 * Bits per second below which no sound or film is encoded that a provider reads: Opus and MP3 begin at 6,000 and 8,000,
 * a film of a picture that stands still needs some hundred. What has no length that can be relied on plays as long as
 * its bytes last at this rate.
 */
export const LEAST_BITRATES = { sound: 6_000, film: 4_000 } as const;

/** Bits per second that no sound and no film goes beyond. A head that says less time than that is not believed. */
const HIGHEST_SOUND_BITRATE = 10_000_000;
const HIGHEST_FILM_BITRATE = 100_000_000;
/** What plays longer counts as long as this: no context has room for the tokens of a day. */
const LONGEST_SECONDS = 24 * 3_600;

export interface PlayingTime {
  /** The longest that any of its heads and frames say. */
  readonly seconds: number;
  readonly hasPictures: boolean;
}

/**
 * Returns how long a recording or a film plays at most; null where its bytes do not say, or contradict themselves.
 * Unlike `audioLength`, which is for bills, it believes the longest of what a file says.
 */
export function playingTime(media: MediaBytes): PlayingTime | null {
  const formats = AUDIO_FORMATS.filter((format) => format !== 'pcm' && looksLike(format, media));
  const times = formats.map((format) => timeAs(format, media)).filter((time) => time !== null);
  if (times.length === 0) return null;
  const seconds = Math.max(...times.map((time) => time.seconds));
  const hasPictures = times.some((time) => time.hasPictures);
  return seconds > 0 ? { seconds: Math.min(seconds, LONGEST_SECONDS), hasPictures } : null;
}

function timeAs(format: AudioFormat, media: MediaBytes): PlayingTime | null {
  switch (format) {
    case 'm4a':
      return plausible(mp4Length(media), media);
    case 'webm': {
      const seconds = webmLongest(media);
      return seconds === null ? null : plausible({ seconds, hasPictures: true }, media);
    }
    case 'mp3':
      return timeOfRun(mp3Run(media));
    case 'aac':
      return timeOfRun(adtsRun(media));
    case 'wav':
      return hasPlainSamples(media) ? timeOfHead(format, media) : null;
    default:
      return plausible(timeOfHead(format, media), media);
  }
}

function timeOfHead(format: AudioFormat, media: MediaBytes): PlayingTime | null {
  const length = audioLength(media, format);
  return length === 'broken' || length.isEstimated ? null : { seconds: length.seconds, hasPictures: false };
}

/** Null for a head that says less time than its bytes need. */
function plausible(time: PlayingTime | null, media: MediaBytes): PlayingTime | null {
  if (time === null) return null;
  const highest = time.hasPictures ? HIGHEST_FILM_BITRATE : HIGHEST_SOUND_BITRATE;
  return time.seconds * highest >= media.length * 8 ? time : null;
}

/** Decoders find the next frame behind what is none. */
function timeOfRun(run: FrameRun | null): PlayingTime | null {
  if (run === null) return null;
  return { seconds: run.seconds + (run.otherBytes * 8) / LEAST_BITRATES.sound, hasPictures: false };
}
