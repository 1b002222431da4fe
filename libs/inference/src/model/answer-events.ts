import type { AnswerEvent, AnswerPart, CanonicalAnswer, Choice, TokenLogprob } from './canonical-answer';

const NO_CHOICE: Choice = { parts: [], finishReason: 'error', nativeFinishReason: null };

/** Returns the events of a whole answer, as if it had been streamed. Of several choices, uses the first. */
export function eventsOfAnswer({
  upstreamId,
  createdAt,
  choices,
  usage,
  units,
  serviceTier,
}: CanonicalAnswer): AnswerEvent[] {
  const { parts, logprobs = [], finishReason, nativeFinishReason, stopSequence } = choices[0] ?? NO_CHOICE;
  const firstText = parts.findIndex(({ type }) => type === 'text');
  return [
    { type: 'start', upstreamId, createdAt },
    ...parts.flatMap((part, index) => eventsOfPart(part, index, index === firstText ? logprobs : [])),
    ...(usage === null ? [] : [{ type: 'usage' as const, usage, ...(units && { units }) }]),
    {
      type: 'finish',
      finishReason,
      nativeFinishReason,
      ...(stopSequence !== undefined && { stopSequence }),
      ...(serviceTier !== undefined && { serviceTier }),
    },
  ];
}

function eventsOfPart(answerPart: AnswerPart, part: number, logprobs: readonly TokenLogprob[]): AnswerEvent[] {
  return [...contentEvents(answerPart, part, logprobs), { type: 'part-end', part }];
}

function contentEvents(answerPart: AnswerPart, part: number, logprobs: readonly TokenLogprob[]): AnswerEvent[] {
  switch (answerPart.type) {
    case 'text':
    case 'refusal': {
      const { type: kind, text } = answerPart;
      const annotations = answerPart.type === 'text' ? (answerPart.annotations ?? []) : [];
      return [
        { type: 'part-start', part, kind },
        { type: 'text-delta', part, text, ...(logprobs.length > 0 && { logprobs }) },
        ...annotations.map((annotation) => ({ type: 'annotation' as const, part, annotation })),
      ];
    }
    case 'reasoning': {
      const { type: kind, ...delta } = answerPart;
      return [
        { type: 'part-start', part, kind },
        { type: 'reasoning-delta', part, delta },
      ];
    }
    case 'tool-call': {
      const { type: kind, id, name, arguments: args } = answerPart;
      return [
        { type: 'part-start', part, kind, id, name },
        { type: 'tool-arguments-delta', part, arguments: args },
      ];
    }
    case 'generated-image':
      return [{ type: 'part-start', part, kind: 'generated-image', url: answerPart.url }];
    case 'server-tool': {
      const { type: kind, hasSucceeded, ...begun } = answerPart;
      return [
        { type: 'part-start', part, kind, ...begun },
        { type: 'tool-outcome', part, hasSucceeded, item: begun.item },
      ];
    }
  }
}
