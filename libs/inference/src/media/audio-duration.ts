import type { MediaBytes } from './media-bytes';
import { PCM_SAMPLE_BYTES, PCM_SAMPLE_RATE, type AudioFormat } from './audio-format';
import { flacSeconds } from './durations/flac';
import { mp4Longest } from './durations/mp4';
import { adtsSeconds, mp3Seconds } from './durations/mpeg';
import { oggSeconds } from './durations/ogg';
import { waveSeconds } from './durations/wave';
import { webmSeconds } from './durations/webm';

/** A head that says more is not believed; frames that hold more count as much. */
const LONGEST_SECONDS = 24 * 3_600;
/**
 * Bits per second that no recording in the format goes beyond. A head that says less time than the bytes need
 * at that rate is not believed either.
 */
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
/** Of speech in a lossy format, where nothing says how long it is. */
const USUAL_BITRATE = 64_000;

/** How long a recording is, and whether that was found in it or is only a guess by its size. */
export interface AudioLength {
  readonly seconds: number;
  readonly isEstimated: boolean;
}

/** Measured without decoding; `broken` for a file whose own words contradict its size. */
export function audioLength(audio: MediaBytes, format: AudioFormat): AudioLength | 'broken' {
  const found = measure(audio, format);
  if (found === 'broken') return found;
  const isSound = found !== null && found > 0;
  const seconds = isSound ? Math.min(found, LONGEST_SECONDS) : (audio.length * 8) / USUAL_BITRATE;
  const least = (audio.length * 8) / HIGHEST_BITRATES[format];
  return { seconds: Math.max(seconds, least), isEstimated: !isSound || seconds < least };
}

function measure(audio: MediaBytes, format: AudioFormat): number | 'broken' | null {
  switch (format) {
    case 'wav':
      return waveSeconds(audio);
    case 'pcm':
      return audio.length / (PCM_SAMPLE_BYTES * PCM_SAMPLE_RATE);
    case 'mp3':
      return mp3Seconds(audio);
    case 'aac':
      return adtsSeconds(audio);
    case 'flac':
      return flacSeconds(audio);
    case 'ogg':
      return oggSeconds(audio);
    case 'm4a':
      return believed(mp4Longest(audio));
    case 'webm':
      return believed(webmSeconds(audio));
  }
}

function believed(stated: number | null): number | null {
  return stated !== null && stated > LONGEST_SECONDS ? null : stated;
}
