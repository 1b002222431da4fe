import type { AnswerEvent, AnswerPart } from '../../model/canonical-answer';
import { anEndpoint, aProvider, foldAnswer } from '../../testing';
import { readAnswer } from './answer-reader';
import { GenerateContentStreamReader } from './stream-reader';

const endpoint = anEndpoint({ provider: aProvider({ protocol: 'google' }), upstreamModel: 'gemini-3.5-flash' });
const read = (body: object) => readAnswer(body, endpoint);
const answer = (candidate: object, more: object = {}) =>
  read({ candidates: [{ content: { parts: [{ text: 'Hello' }] }, finishReason: 'STOP', ...candidate }], ...more });

function stream(...chunks: object[]): AnswerEvent[] {
  const reader = new GenerateContentStreamReader(endpoint);
  return [...chunks.flatMap((chunk) => reader.read({ name: null, data: JSON.stringify(chunk) })), ...reader.end()];
}
const chunk = (candidate: object, more: object = {}) => ({ candidates: [candidate], ...more });
const said = (...parts: object[]) => ({ content: { parts, role: 'model' } });

describe(readAnswer.name, () => {
  it('shows proof of a call beside it and proof of a text behind it', () => {
    const parts = [
      { text: 'Hm', thought: true },
      { text: 'Well', thoughtSignature: 'dGV4dA==' },
      { functionCall: { id: 'a', name: 'f', args: { n: 1 } }, thoughtSignature: 'Y2FsbA==' },
      { functionCall: { id: 'b', name: 'f' } },
    ];
    expect(answer({ content: { parts } }).choices[0]).toEqual({
      parts: [
        { type: 'reasoning', text: 'Hm', format: 'google-gemini-v1' },
        { type: 'text', text: 'Well' },
        { type: 'reasoning', encrypted: 'dGV4dA==', format: 'google-gemini-v1' },
        { type: 'reasoning', encrypted: 'Y2FsbA==', id: 'a', format: 'google-gemini-v1' },
        { type: 'tool-call', id: 'a', name: 'f', arguments: '{"n":1}' },
        { type: 'tool-call', id: 'b', name: 'f', arguments: '{}' },
      ],
      finishReason: 'tool_calls',
      nativeFinishReason: 'STOP',
    });
  });

  it('gives calls without an id one each, the proof the same', () => {
    const call = { functionCall: { name: 'f', args: {} }, thoughtSignature: 'Y2FsbA==' };
    const [proof, first, , second] = answer(said(call, call)).choices[0]!.parts as readonly { id: string }[];
    expect(proof!.id).toBe(first!.id);
    expect(first!.id).not.toBe(second!.id);
  });

  it('takes pictures, and leaves sketches and sound out', () => {
    const picture = { inlineData: { mimeType: 'image/png', data: 'iVBO' } };
    const parts = [{ ...picture, thought: true }, picture, { inlineData: { mimeType: 'audio/L16', data: 'YQ==' } }];
    expect(answer({ content: { parts } }).choices[0]!.parts).toEqual([
      { type: 'generated-image', url: 'data:image/png;base64,iVBO' },
    ]);
  });

  it.each([
    ['STOP', 'stop'],
    ['MAX_TOKENS', 'length'],
    ['SAFETY', 'content_filter'],
    ['RECITATION', 'content_filter'],
    ['PROHIBITED_CONTENT', 'content_filter'],
    ['MALFORMED_FUNCTION_CALL', 'error'],
    ['OTHER', 'error'],
    ['SOMETHING_NEW', 'stop'],
  ])('reads %s as %s', (nativeFinishReason, finishReason) => {
    expect(answer({ finishReason: nativeFinishReason }).choices[0]).toMatchObject({ finishReason, nativeFinishReason });
  });

  it('tells why a filter left nothing', () => {
    const silenced = { content: undefined, finishReason: 'SAFETY', finishMessage: 'Not that.' };
    expect(answer(silenced).choices[0]!.parts).toEqual([{ type: 'refusal', text: 'Not that.' }]);
  });

  it('reads a prompt that was refused as an answer that was filtered, which is paid for', () => {
    const { choices, usage } = read({
      promptFeedback: { blockReason: 'PROHIBITED_CONTENT' },
      usageMetadata: { promptTokenCount: 12, totalTokenCount: 12 },
    });
    expect(choices).toEqual([{ parts: [], finishReason: 'content_filter', nativeFinishReason: 'PROHIBITED_CONTENT' }]);
    expect(usage).toMatchObject({ promptTokens: 12, completionTokens: 0, provenance: 'upstream' });
  });

  it('counts thoughts as completion and what tools read as prompt', () => {
    const { usage, units, serviceTier } = answer(
      {},
      {
        usageMetadata: {
          promptTokenCount: 1_000,
          toolUsePromptTokenCount: 50,
          cachedContentTokenCount: 400,
          candidatesTokenCount: 30,
          thoughtsTokenCount: 70,
          totalTokenCount: 1_150,
          promptTokensDetails: [
            { modality: 'TEXT', tokenCount: 432 },
            { modality: 'AUDIO', tokenCount: 50 },
            { modality: 'IMAGE', tokenCount: 518 },
          ],
          cacheTokensDetails: [{ modality: 'IMAGE', tokenCount: 258 }],
          serviceTier: 'standard',
        },
      },
    );
    expect(usage).toEqual({
      promptTokens: 1_050,
      completionTokens: 100,
      totalTokens: 1_150,
      cachedTokens: 400,
      cacheWriteTokens: 0,
      reasoningTokens: 70,
      audioPromptTokens: 50,
      audioCompletionTokens: 0,
      provenance: 'upstream',
    });
    expect({ units, serviceTier }).toEqual({ units: { imageTokens: 260 }, serviceTier: 'default' });
  });

  it.each([
    ['ON_DEMAND', undefined, 'default'],
    ['ON_DEMAND_PRIORITY', undefined, 'priority'],
    ['ON_DEMAND_FLEX', undefined, 'flex'],
    ['PROVISIONED_THROUGHPUT', undefined, undefined],
    ['TRAFFIC_TYPE_UNSPECIFIED', 'unspecified', undefined],
    ['ON_DEMAND', 'priority', 'priority'],
  ])('reads the traffic type %s of Vertex AI beside the tier %s as %s', (trafficType, serviceTier, tier) => {
    const usageMetadata = { promptTokenCount: 1, trafficType, serviceTier };
    expect(answer({}, { usageMetadata }).serviceTier).toBe(tier);
  });

  it('counts sources in characters where the upstream counts bytes', () => {
    const { choices } = answer({
      content: { parts: [{ text: 'Grüße 😀 aus Köln.' }] },
      groundingMetadata: {
        groundingChunks: [{ web: { uri: 'https://a.example/', title: 'A' } }, { web: {} }],
        groundingSupports: [
          { segment: { startIndex: 8, endIndex: 12 }, groundingChunkIndices: [0, 1, 7] },
          { segment: { startIndex: 13, endIndex: 22 }, groundingChunkIndices: [0] },
        ],
      },
      citationMetadata: { citationSources: [{ startIndex: 0, endIndex: 7, uri: 'https://b.example/' }] },
    });
    const [{ annotations }] = choices[0]!.parts as [Extract<AnswerPart, { type: 'text' }>];
    const words = annotations!.map(({ url, title, startIndex, endIndex }) => [
      url,
      title,
      'Grüße 😀 aus Köln.'.slice(startIndex, endIndex),
    ]);
    expect(words).toEqual([
      ['https://a.example/', 'A', '😀'],
      ['https://a.example/', 'A', 'aus Köln'],
      ['https://b.example/', '', 'Grüße'],
    ]);
  });

  it('leaves out sources by a number that is none', () => {
    for (const text of ['[{"toString":1}]', '[[{"toString":1}]]', '[null]', '["0"]', '[-1]']) {
      const { choices } = answer({
        content: { parts: [{ text: 'Hi' }] },
        groundingMetadata: {
          groundingChunks: [{ web: { uri: 'https://a.example/' } }],
          groundingSupports: [{ segment: { endIndex: 2 }, groundingChunkIndices: JSON.parse(text) as unknown }],
        },
      });
      expect(choices[0]!.parts).toMatchObject([{ type: 'text', text: 'Hi' }]);
    }
  });

  it('reads log probabilities', () => {
    const token = { token: 'Hello', logProbability: -0.1 };
    const logprobsResult = { chosenCandidates: [token], topCandidates: [{ candidates: [token, { token: 'Hi' }] }] };
    expect(answer({ logprobsResult }).choices[0]!.logprobs).toEqual([
      {
        token: 'Hello',
        bytes: null,
        logprob: -0.1,
        top: [
          { token: 'Hello', bytes: null, logprob: -0.1 },
          { token: 'Hi', bytes: null, logprob: -9999 },
        ],
      },
    ]);
  });

  it('reads all candidates, and when the answer was begun', () => {
    const { choices, createdAt } = read({
      candidates: [
        { content: { parts: [{ text: 'a' }] }, finishReason: 'STOP' },
        { content: { parts: [{ text: 'b' }] }, finishReason: 'STOP' },
      ],
      createTime: '2026-11-21T09:00:01.5Z',
    });
    expect(choices.map(({ parts }) => parts)).toEqual([[{ type: 'text', text: 'a' }], [{ type: 'text', text: 'b' }]]);
    expect(createdAt).toBe(1_795_251_601);
  });

  it.each([
    [{}, 'provider_unavailable'],
    [{ candidates: [{ index: 0 }] }, 'provider_unavailable'],
    [{ error: { code: 429, message: 'Quota', status: 'RESOURCE_EXHAUSTED' } }, 'rate_limit_exceeded'],
    [
      { error: { code: 400, status: 'INVALID_ARGUMENT', details: [{ reason: 'API_KEY_INVALID' }], message: 'Key!' } },
      'provider_unavailable',
    ],
    [
      { error: { code: 400, status: 'FAILED_PRECONDITION', message: 'User location is not supported.' } },
      'provider_unavailable',
    ],
    [
      { error: { code: 400, status: 'FAILED_PRECONDITION', message: 'The File abc is not in an ACTIVE state.' } },
      'precondition_failed',
    ],
  ])('refuses %j', (body, code) => {
    expect(() => read(body)).toThrow(expect.objectContaining({ code }) as Error);
  });
});

describe(GenerateContentStreamReader.name, () => {
  it('keeps sources and proof of a text until it ends, whichever chunk tells them', () => {
    const { parts } = foldAnswer(
      stream(
        chunk(said({ text: 'Grüße' })),
        chunk(said({ text: ' aus Köln', thoughtSignature: 'dGV4dA==' })),
        chunk({
          ...said({ text: '' }),
          finishReason: 'STOP',
          groundingMetadata: {
            groundingChunks: [{ web: { uri: 'https://a.example/', title: 'A' } }],
            groundingSupports: [{ segment: { startIndex: 8, endIndex: 17 }, groundingChunkIndices: [0] }],
          },
        }),
      ),
    );
    expect(parts).toEqual([
      {
        type: 'text',
        text: 'Grüße aus Köln',
        annotations: [{ type: 'url-citation', url: 'https://a.example/', title: 'A', startIndex: 6, endIndex: 14 }],
      },
      { type: 'reasoning', encrypted: 'dGV4dA==', format: 'google-gemini-v1' },
    ]);
  });

  it('reports usage as it grows and finishes once, at the end, though every chunk says STOP', () => {
    const events = stream(
      chunk({ ...said({ text: 'a' }), finishReason: 'STOP' }, { usageMetadata: { promptTokenCount: 3 } }),
      chunk(
        { ...said({ text: 'b' }), finishReason: 'MAX_TOKENS' },
        { usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, serviceTier: 'flex' } },
      ),
    );
    expect(events.map(({ type }) => type)).toEqual([
      'start',
      'part-start',
      'text-delta',
      'usage',
      'text-delta',
      'usage',
      'part-end',
      'finish',
    ]);
    expect(events.at(-1)).toEqual({
      type: 'finish',
      finishReason: 'length',
      nativeFinishReason: 'MAX_TOKENS',
      serviceTier: 'flex',
    });
  });

  it('tells the sources of a text with that text alone', () => {
    const groundingMetadata = {
      groundingChunks: [{ web: { uri: 'https://a.example/' } }],
      groundingSupports: [{ segment: { endIndex: 1 }, groundingChunkIndices: [0] }],
    };
    const { parts } = foldAnswer(
      stream(
        chunk({ ...said({ text: 'a' }), groundingMetadata }),
        chunk({ ...said({ functionCall: { id: 'c', name: 'f' } }, { text: 'b' }), finishReason: 'STOP' }),
      ),
    );
    expect(parts.map((part) => part.type === 'text' && part.annotations?.length)).toEqual([1, false, undefined]);
  });

  it('ends in a filter when the prompt is refused', () => {
    const events = stream({ promptFeedback: { blockReason: 'SAFETY', blockReasonMessage: 'No.' } });
    expect(foldAnswer(events)).toMatchObject({
      parts: [{ type: 'refusal', text: 'No.' }],
      finishReason: 'content_filter',
      nativeFinishReason: 'SAFETY',
    });
  });

  it('reads the first candidate alone, and the log probabilities of a chunk once', () => {
    const logprobsResult = { chosenCandidates: [{ token: 'a', logProbability: -1 }] };
    const { parts, logprobs } = foldAnswer(
      stream(
        chunk({ index: 1, ...said({ text: 'x' }), finishReason: 'STOP' }),
        chunk({ index: 0, ...said({ text: 'a' }, { text: 'b' }), logprobsResult, finishReason: 'STOP' }),
      ),
    );
    expect(parts).toEqual([{ type: 'text', text: 'ab' }]);
    expect(logprobs).toHaveLength(1);
  });

  it.each([
    ['a cut', (): unknown => stream(chunk(said({ text: 'a' }))), 'provider_unavailable'],
    [
      'a reason that says nothing',
      (): unknown => stream(chunk({ ...said({ text: 'a' }), finishReason: 'FINISH_REASON_UNSPECIFIED' })),
      'provider_unavailable',
    ],
    ['an error', (): unknown => stream({ error: { code: 503, status: 'UNAVAILABLE' } }), 'provider_overloaded'],
    ['no object', (): unknown => stream([]), 'provider_unavailable'],
  ])('throws for %s', (_what, run, code) => {
    expect(run).toThrow(expect.objectContaining({ code }) as Error);
  });
});
