import { tokensOfUnits } from '../model/text-tokens';
import { PICTURE_TOKENS } from '../model/expected-output';
import type { PriceList } from '../pricing/price';
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

/** Returns both outputs together. */
export function addSeen(one: SeenOutput, other: SeenOutput): SeenOutput {
  return {
    contentUnits: one.contentUnits + other.contentUnits,
    pictures: one.pictures + other.pictures,
    audioBytes: one.audioBytes + other.audioBytes,
  };
}

/** The prices for tokens of pictures and sound in the output, which an endpoint may have. */
export type OutputPrices = Pick<PriceList, 'imageOutputToken' | 'audioOutput'>;

/**
 * Returns the output tokens of a whole answer some of whose output arrived after the last report. It is unknown whether
 * the report includes that output: at least all `seen` tokens, at most the reported ones and those that came `since`.
 */
export function withLateOutput(reported: number, seen: number, since: number): number {
  return Math.min(Math.max(reported, seen), reported + since);
}

/**
 * Adds the output that arrived after the last report to its counts; returns null if the report covers all of it. Tokens
 * of pictures and of sound that the report counts or the endpoint prices are compared with those of their own kind: a
 * long text does not cover a picture.
 */
export function withLateKinds(
  counts: ReportedCounts,
  { seen, since }: { readonly seen: SeenCounts; readonly since: SeenCounts },
  prices: OutputPrices,
): ReportedCounts | null {
  if (since.completion === 0) return null;
  const lateOf = (kind: 'imageCompletion' | 'audioCompletion', rate: bigint | undefined) => {
    const said = counts[kind] ?? 0;
    if (said === 0 && rate === undefined) return { said: 0, seen: 0, since: 0, all: 0 };
    const all = withLateOutput(said, seen[kind], since[kind]);
    return { said, seen: seen[kind], since: since[kind], all };
  };
  const kinds = [
    lateOf('imageCompletion', prices.imageOutputToken),
    lateOf('audioCompletion', prices.audioOutput),
  ] as const;
  const sum = (name: keyof (typeof kinds)[0]): number => kinds[0][name] + kinds[1][name];
  const said = counts.completion ?? 0;
  const others = withLateOutput(
    Math.max(0, said - sum('said')),
    seen.completion - sum('seen'),
    since.completion - sum('since'),
  );
  const completion = others + sum('all');
  if (completion <= said && sum('all') === sum('said')) return null;
  return { ...counts, completion, imageCompletion: kinds[0].all, audioCompletion: kinds[1].all, total: null };
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
