import { tokensOfUnits } from '../model/text-tokens';
import { PICTURE_TOKENS } from '../model/expected-output';
import type { ReportedCounts } from './reported-counts';

/** Output that has been received, to bill what the provider has not counted. */
export interface SeenOutput {
  /** Length of text, arguments and thoughts, in units (`UNITS_PER_TOKEN`). */
  readonly contentUnits: number;
  readonly pictures: number;
  /** Length of the sound in base64 characters. */
  readonly audioBytes: number;
}

export const NOTHING_SEEN: SeenOutput = { contentUnits: 0, pictures: 0, audioBytes: 0 };

/** Sound is streamed as 16-bit samples at 24 kHz, and OpenAI counts 20 tokens a second. */
const AUDIO_BYTES_PER_TOKEN = 2_400;
const BASE64_BYTES = 4 / 3;

/** Returns the fewest tokens that this much output can have, in the form in which upstreams report counts. */
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
  /** Part of `completion`, like the next field. */
  readonly imageCompletion: number;
  readonly audioCompletion: number;
}

/** Returns the output between two points of a stream. */
export function seenSince(now: SeenOutput, then: SeenOutput): SeenOutput {
  return {
    contentUnits: now.contentUnits - then.contentUnits,
    pictures: now.pictures - then.pictures,
    audioBytes: now.audioBytes - then.audioBytes,
  };
}

/**
 * Returns the output tokens of a whole answer some of whose output arrived after the last report. It is unknown whether
 * the report includes that output: at least all `seen` tokens, at most the reported ones and those that came `since`.
 */
export function withLateOutput(reported: number, seen: number, since: number): number {
  return Math.min(Math.max(reported, seen), reported + since);
}

/** Adds output to the counts of a report that does not include that output. */
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
