import type { MediaBytes } from './media-bytes';
import { audioLength } from './audio-duration';
import { AUDIO_FORMATS, looksLike } from './audio-format';

export interface PlayingTime {
  /** The longest time that a decoder may play it, whatever its headers state. */
  readonly longest: number;
  /** The longer of the stated and the counted seconds. */
  readonly usual: number;
  readonly hasPictures: boolean;
}

/**
 * Returns how long a recording or a video plays, by the longest of all formats that it may have; null if its bytes do
 * not show it, or contradict themselves.
 */
export function playingTime(media: MediaBytes): PlayingTime | null {
  const formats = AUDIO_FORMATS.filter((format) => format !== 'pcm' && looksLike(format, media));
  const known = formats
    .map((format) => audioLength(media, format))
    .filter((length) => length !== 'broken')
    .filter(({ isEstimated }) => !isEstimated);
  if (known.length === 0) return null;
  return {
    longest: Math.max(...known.map(({ longest }) => longest)),
    usual: Math.max(...known.map(({ seconds }) => seconds)),
    hasPictures: known.some(({ hasPictures }) => hasPictures),
  };
}
