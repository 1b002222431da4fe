import type { TranscriptSegment, TranscriptWord } from '../../audio/transcript';

/** Silence that ends a segment. */
const PAUSE_SECONDS = 1;
const LONGEST_SEGMENT_SECONDS = 30;
const SENTENCE_END = /[.?!。？！…]["')\]]?$/;

/**
 * Groups words into segments. A segment ends with a sentence, a change of speaker, a pause, or when it becomes too
 * long.
 */
export function segmentsOf(words: readonly TranscriptWord[]): TranscriptSegment[] {
  const segments: TranscriptSegment[] = [];
  let open: TranscriptWord[] = [];
  const close = (): void => {
    const [first] = open;
    const last = open.at(-1);
    if (first === undefined || last === undefined) return;
    const text = joinWords(open.map(({ word }) => word));
    segments.push({ start: first.start, end: last.end, text, speaker: first.speaker });
    open = [];
  };
  for (const word of words) {
    if (open.length > 0 && endsBefore(word, open)) close();
    open.push(word);
  }
  close();
  return segments;
}

function endsBefore(next: TranscriptWord, open: readonly TranscriptWord[]): boolean {
  const last = open.at(-1)!;
  return (
    next.speaker !== last.speaker ||
    SENTENCE_END.test(last.word) ||
    next.start - last.end > PAUSE_SECONDS ||
    next.end - open[0]!.start > LONGEST_SEGMENT_SECONDS
  );
}

/** Joins words. Some recognizers include the spaces in their words, others do not. */
function joinWords(words: readonly string[]): string {
  const isSpaced = words.some((word) => /^\s|\s$/.test(word));
  return words.join(isSpaced ? '' : ' ').trim();
}
