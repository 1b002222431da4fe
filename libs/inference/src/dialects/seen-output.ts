import { tokensOfUnits } from '../model/text-tokens';
import { PICTURE_TOKENS } from '../model/expected-output';
import type { ReportedCounts } from './reported-counts';

/** What has been seen of an answer, for bills of what its provider has not counted. */
export interface SeenOutput {
  /** Of text, arguments and thoughts, in units (`UNITS_PER_TOKEN`). */
  readonly contentUnits: number;
  readonly pictures: number;
  /** Of sound, as base64. */
  readonly audioBytes: number;
}

export const NOTHING_SEEN: SeenOutput = { contentUnits: 0, pictures: 0, audioBytes: 0 };

/** Sound is streamed as 16-bit samples at 24 kHz, and OpenAI counts 20 tokens a second. */
const AUDIO_BYTES_PER_TOKEN = 2_400;
const BASE64_BYTES = 4 / 3;

/** Returns what so much output counts at least, in the form that upstreams report it in. */
export function countSeen({ contentUnits, pictures, audioBytes }: SeenOutput): SeenCounts {
  const imageCompletion = pictures * PICTURE_TOKENS;
  const audioCompletion = Math.ceil(audioBytes / BASE64_BYTES / AUDIO_BYTES_PER_TOKEN);
  return {
    completion: tokensOfUnits(contentUnits) + imageCompletion + audioCompletion,
    imageCompletion,
    audioCompletion,
  };
}

export interface SeenCounts {
  readonly completion: number;
  /** Among `completion`, as the next one. */
  readonly imageCompletion: number;
  readonly audioCompletion: number;
}

/** Returns what has been seen since. */
export function seenSince(now: SeenOutput, then: SeenOutput): SeenOutput {
  return {
    contentUnits: now.contentUnits - then.contentUnits,
    pictures: now.pictures - then.pictures,
    audioBytes: now.audioBytes - then.audioBytes,
  };
}

/** Adds output to the counts of a report that was made before it, or that has none of the answer. */
export function withSeen(
  counts: ReportedCounts,
  { completion, imageCompletion, audioCompletion }: SeenCounts,
): ReportedCounts {
  return {
    ...counts,
    completion: (counts.completion ?? 0) + completion,
    imageCompletion: (counts.imageCompletion ?? 0) + imageCompletion,
    audioCompletion: (counts.audioCompletion ?? 0) + audioCompletion,
    total: null,
  };
}
