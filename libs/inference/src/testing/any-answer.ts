import fc from 'fast-check';
import type { AnswerEvent, AnswerPart, CanonicalAnswer, ReasoningDelta, TokenLogprob } from '../model/canonical-answer';
import type { Annotation, ReasoningPart, TextPart } from '../model/conversation';
import { FINISH_REASONS } from '../model/finish-reason';
import type { Usage } from '../pricing/usage';
import {
  anyId,
  anyName,
  anyReasoningPart,
  anyRefusal,
  anySome,
  anyText,
  anyToolCall,
  anyUrl,
  both,
} from './any-request';

export const anyAnnotation: fc.Arbitrary<Annotation> = both(
  fc.record({
    type: fc.constant('url-citation' as const),
    url: anyUrl,
    title: anyText,
    startIndex: fc.nat(50),
    endIndex: fc.nat(50),
  }),
  anySome<Pick<Annotation, 'content'>>({ content: anyText }),
);

const anyTokenLogprob = fc.record({
  token: anyText,
  bytes: fc.option(fc.array(fc.nat(255), { maxLength: 4 })),
  logprob: fc.double({ min: -100, max: -0.001, noNaN: true }),
});
export const anyLogprobs: fc.Arbitrary<readonly TokenLogprob[]> = fc.array(
  both(anyTokenLogprob, fc.record({ top: fc.array(anyTokenLogprob, { maxLength: 2 }) })),
  { minLength: 1, maxLength: 3 },
);

/** Text of an answer, cited or not. */
export const anyAnswerText: fc.Arbitrary<TextPart> = both(
  fc.record({ type: fc.constant('text' as const), text: anyText }),
  anySome<Pick<TextPart, 'annotations'>>({ annotations: fc.array(anyAnnotation, { minLength: 1, maxLength: 2 }) }),
);
const anyGeneratedImage = fc.record({ type: fc.constant('generated-image' as const), url: anyUrl });

/** Counts that can be: what was read from a cache was not written to it. */
export const anyUsage: fc.Arbitrary<Usage> = fc
  .record({
    uncachedTokens: fc.nat(5_000),
    cachedTokens: fc.nat(5_000),
    cacheWriteTokens: fc.nat(5_000),
    textTokens: fc.nat(5_000),
    reasoningTokens: fc.nat(5_000),
  })
  .map(({ uncachedTokens, textTokens, cachedTokens, cacheWriteTokens, reasoningTokens }) => {
    const promptTokens = uncachedTokens + cachedTokens + cacheWriteTokens;
    const completionTokens = textTokens + reasoningTokens;
    return {
      promptTokens,
      completionTokens,
      totalTokens: promptTokens + completionTokens,
      cachedTokens,
      cacheWriteTokens,
      reasoningTokens,
      audioPromptTokens: uncachedTokens,
      audioCompletionTokens: textTokens,
      provenance: 'upstream',
    };
  });

/** The parts of an answer, each kind once or a few times, in the order in which most dialects have them. */
export const anyAnswerParts: fc.Arbitrary<readonly AnswerPart[]> = fc
  .tuple(
    fc.array(anyReasoningPart, { maxLength: 2 }),
    fc.array(anyAnswerText, { maxLength: 1 }),
    fc.array(anyRefusal, { maxLength: 1 }),
    fc.array(anyGeneratedImage, { maxLength: 2 }),
    fc.array(anyToolCall, { maxLength: 3 }),
  )
  .map((lists) => lists.flat());

/** The parts of a streamed answer, in any order; never two texts or two refusals in a row. */
export const anyPartSequence: fc.Arbitrary<readonly AnswerPart[]> = fc
  .array(fc.oneof(anyReasoningPart, anyAnswerText, anyRefusal, anyGeneratedImage, anyToolCall), {
    minLength: 1,
    maxLength: 6,
  })
  .map((parts) => parts.filter(({ type }, i) => !['text', 'refusal'].includes(type) || parts[i - 1]?.type !== type));

export const anyAnswer: fc.Arbitrary<CanonicalAnswer> = both(
  fc.record({
    upstreamId: anyId,
    createdAt: fc.nat(),
    choices: fc.array(
      both(
        fc.record({
          parts: anyAnswerParts,
          finishReason: fc.constantFrom(...FINISH_REASONS),
          nativeFinishReason: anyName,
        }),
        anySome<{ logprobs: readonly TokenLogprob[] }>({ logprobs: anyLogprobs }),
      ),
      { minLength: 1, maxLength: 2 },
    ),
    usage: anyUsage,
  }),
  anySome<Pick<CanonicalAnswer, 'serviceTier' | 'systemFingerprint'>>({
    serviceTier: anyName,
    systemFingerprint: anyId,
  }),
);

/** The events of an answer of these parts, its texts cut into pieces of `size` characters. */
export function eventsOf(parts: readonly AnswerPart[], usage: Usage, size: number): AnswerEvent[] {
  const events: AnswerEvent[] = [{ type: 'start', upstreamId: 'up-1', createdAt: 1_763_715_601 }];
  parts.forEach((part, index) => events.push(...partEvents(part, index, size)));
  events.push({ type: 'usage', usage });
  events.push({ type: 'finish', finishReason: 'stop', nativeFinishReason: 'stop' });
  return events;
}

function partEvents(part: AnswerPart, index: number, size: number): AnswerEvent[] {
  const end: AnswerEvent = { type: 'part-end', part: index };
  switch (part.type) {
    case 'server-tool': {
      const { type: kind, hasSucceeded, item, ...begun } = part;
      return [
        { type: 'part-start', part: index, kind, ...begun, item: {} },
        { type: 'tool-outcome', part: index, hasSucceeded, item },
        end,
      ];
    }
    case 'generated-image':
      return [{ type: 'part-start', part: index, kind: 'generated-image', url: part.url }, end];
    case 'tool-call': {
      const { id, name } = part;
      const deltas = pieces(part.arguments, size).map((text): AnswerEvent => ({
        type: 'tool-arguments-delta',
        part: index,
        arguments: text,
      }));
      return [{ type: 'part-start', part: index, kind: 'tool-call', id, name }, ...deltas, end];
    }
    case 'reasoning': {
      const deltas = thoughtDeltas(part, size).map((delta): AnswerEvent => ({
        type: 'reasoning-delta',
        part: index,
        delta,
      }));
      return [{ type: 'part-start', part: index, kind: 'reasoning' }, ...deltas, end];
    }
    case 'text':
    case 'refusal': {
      const cited = part.type === 'text' ? (part.annotations ?? []) : [];
      return [
        { type: 'part-start', part: index, kind: part.type },
        ...pieces(part.text, size).map((text): AnswerEvent => ({ type: 'text-delta', part: index, text })),
        ...cited.map((annotation): AnswerEvent => ({ type: 'annotation', part: index, annotation })),
        end,
      ];
    }
  }
}

function thoughtDeltas({ text, summary, signature, encrypted, id, format }: ReasoningPart, size: number) {
  const deltas: ReasoningDelta[] = [
    ...pieces(text ?? '', size).map((piece) => ({ text: piece })),
    ...pieces(summary ?? '', size).map((piece) => ({ summary: piece })),
    ...(signature === undefined ? [] : [{ signature }]),
    ...(encrypted === undefined ? [] : [{ encrypted }]),
  ];
  const once = { ...(id !== undefined && { id }), ...(format !== undefined && { format }) };
  const [first, ...rest] = deltas.length === 0 ? [{}] : deltas;
  return [{ ...first, ...once }, ...rest];
}

/** The text in pieces of whole characters. */
export function pieces(text: string, size: number): string[] {
  const characters = [...text];
  return Array.from({ length: Math.ceil(characters.length / size) }, (_, i) =>
    characters.slice(i * size, (i + 1) * size).join(''),
  );
}
