import fc from 'fast-check';
import { anyAnswer, anyPartSequence, eventsOf } from '../testing';
import { eventsOfAnswer } from './answer-events';
import { AnswerFold } from './answer-fold';
import type { AnswerEvent } from './canonical-answer';
import { emptyUsage } from '../pricing/usage';

function foldOf(events: readonly AnswerEvent[]): AnswerFold {
  const fold = new AnswerFold();
  for (const event of events) fold.add(event);
  return fold;
}

describe(AnswerFold.name, () => {
  it('adds the pieces of a stream up to the answer that was streamed', () => {
    fc.assert(
      fc.property(anyPartSequence, fc.integer({ min: 1, max: 5 }), (parts, size) => {
        expect(foldOf(eventsOf(parts, emptyUsage('upstream'), size)).parts).toEqual(parts);
      }),
    );
  });

  it('undoes what turns a whole answer into events', () => {
    fc.assert(
      fc.property(anyAnswer, (answer) => {
        const fold = foldOf(eventsOfAnswer(answer));
        const { parts, logprobs = [] } = answer.choices[0]!;
        expect(fold.parts).toEqual(parts);
        expect(fold.logprobs).toEqual(parts.some(({ type }) => type === 'text') ? logprobs : []);
        expect(fold).toMatchObject({ upstreamId: answer.upstreamId, createdAt: answer.createdAt });
      }),
    );
  });

  it('takes more in one piece than a call takes arguments', () => {
    const logprobs = Array.from({ length: 500_000 }, () => ({ token: 'a', logprob: 0, bytes: null, top: [] }));
    const fold = foldOf([
      { type: 'part-start', part: 0, kind: 'text' },
      { type: 'text-delta', part: 0, text: 'a', logprobs },
    ]);
    expect(fold.logprobs).toHaveLength(500_000);
  });

  it('keeps apart parts that overlap', () => {
    const fold = foldOf([
      { type: 'part-start', part: 4, kind: 'text' },
      { type: 'part-start', part: 7, kind: 'tool-call', id: 'a', name: 'f' },
      { type: 'text-delta', part: 4, text: 'Hi' },
      { type: 'tool-arguments-delta', part: 7, arguments: '{}' },
      { type: 'text-delta', part: 4, text: '!' },
    ]);
    expect(fold.parts).toEqual([
      { type: 'text', text: 'Hi!' },
      { type: 'tool-call', id: 'a', name: 'f', arguments: '{}' },
    ]);
  });

  it('makes a message of what the model said, and of nothing else', () => {
    const fold = foldOf([
      { type: 'part-start', part: 0, kind: 'generated-image', url: 'data:image/png;base64,AA==' },
      { type: 'part-start', part: 1, kind: 'server-tool', tool: 'look', itemType: 'x:look', item: {} },
      { type: 'part-start', part: 2, kind: 'text' },
    ]);
    expect(fold.toMessage()).toEqual({
      role: 'assistant',
      parts: [
        { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'AA==' } },
        { type: 'text', text: '' },
      ],
    });
  });
});
