import { AppError } from '@libs/errors';
import type { AnswerEvent } from '../model/canonical-answer';
import { emptyUsage, type Usage } from '../pricing/usage';
import { aModel, anEndpoint, textOf } from '../testing';
import type { AnswerContext } from './dialect';
import { TRANSLATIONS } from './dialect-pairs';
import { TranslatedStream } from './translated-stream';
import type { StreamReader } from './translation';

const endpoint = anEndpoint();
const context: AnswerContext = {
  generationId: 'gen-1-abc',
  model: aModel({ endpoints: [endpoint] }),
  endpoint,
  priceList: 'standard',
  beganMs: 0,
  requestBody: Buffer.from('{"messages":[]}'),
};

const counted = (promptTokens: number, completionTokens: number): Usage => ({
  ...emptyUsage('upstream'),
  promptTokens,
  completionTokens,
  totalTokens: promptTokens + completionTokens,
});
const START: AnswerEvent = { type: 'start', upstreamId: 'up-1', createdAt: 1 };
const TEXT: AnswerEvent = { type: 'part-start', part: 0, kind: 'text' };
const WORDS: AnswerEvent = { type: 'text-delta', part: 0, text: 'twelve bytes' };
const END: readonly AnswerEvent[] = [
  { type: 'part-end', part: 0 },
  { type: 'finish', finishReason: 'stop', nativeFinishReason: 'stop' },
];
const PROMPT: AnswerEvent = { type: 'usage', usage: counted(700, 0), isPromptOnly: true };

/** An upstream that brings these groups of events one after the other, and is cut unless the last one ends it. */
async function streamOf(...groups: readonly (readonly AnswerEvent[])[]) {
  const reader: StreamReader = {
    read: ({ data }) => [...groups[Number(data)]!],
    end: () => {
      throw new AppError('provider_unavailable', 'The stream was cut');
    },
  };
  const pieces = groups.map((_, index) => Buffer.from(`data: ${index}\n\n`));
  const upstream = {
    read: async () => pieces.shift() ?? null,
    leave: () => 0,
    cancel: () => undefined,
    discard: () => undefined,
  };
  const writer = TRANSLATIONS.get('chat')!.caller.writeStream(context);
  const stream = await TranslatedStream.open(upstream, context, { reader, writer });
  const text = await textOf(stream);
  return { text, outcome: await stream.outcome };
}

describe(TranslatedStream.name, () => {
  it('charges a stream that is cut for the prompt that the upstream counted in the beginning', async () => {
    const { outcome } = await streamOf([START, PROMPT, TEXT, WORDS]);
    expect(outcome).toMatchObject({
      state: 'failed',
      usage: { promptTokens: 700, completionTokens: 4, provenance: 'partial' },
    });
  });

  it('takes a count of the prompt for no count of the answer', async () => {
    const { outcome } = await streamOf([START, PROMPT, TEXT, WORDS], END);
    expect(outcome).toMatchObject({
      state: 'completed',
      usage: { promptTokens: 700, completionTokens: 4, provenance: 'estimated' },
    });
  });

  it('charges nothing where nothing was said, whatever the prompt', async () => {
    const call: AnswerEvent = { type: 'part-start', part: 0, kind: 'tool-call', id: 'c', name: '' };
    const { outcome } = await streamOf([START, PROMPT, call]);
    expect(outcome).toMatchObject({ state: 'failed', usage: { totalTokens: 0 }, cost: { totalCost: 0n } });
  });

  it('tells of the failure that ends an answer, and charges what it reports', async () => {
    const failure = new AppError('provider_overloaded', 'The provider is overloaded');
    const { outcome, text } = await streamOf(
      [START, TEXT, WORDS],
      [
        { type: 'usage', usage: counted(700, 41) },
        { type: 'finish', finishReason: 'error', nativeFinishReason: null, failure },
      ],
    );
    expect(outcome).toMatchObject({
      state: 'failed',
      error: failure,
      usage: { promptTokens: 700, completionTokens: 41, provenance: 'partial' },
    });
    expect(text).toContain('"error_type":"provider_overloaded"');
  });

  it('is none where an upstream fails before it says anything', async () => {
    const failure = new AppError('provider_overloaded', 'The provider is overloaded');
    const opened = streamOf(
      [START, PROMPT],
      [{ type: 'finish', finishReason: 'error', nativeFinishReason: null, failure }],
    );
    await expect(opened).rejects.toBe(failure);
  });
});
