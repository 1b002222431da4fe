import { APIS, endpointsNamed, estimatePrompt, parseRate, type PriceList } from '@libs/inference';
import { aCatalogue, aModel, anEndpoint, aProvider } from '@libs/inference/testing';
import { estimateHold } from './hold-estimate';

const DEAR = { prompt: parseRate('0.00001'), completion: parseRate('0.00002') };
const FREE = { prompt: 0n, completion: 0n };

const catalogue = aCatalogue(
  aModel({ slug: 'acme/talker-1', created: 1 }),
  aModel({
    slug: 'acme/talker-2',
    created: 2,
    endpoints: [
      anEndpoint({ pricing: DEAR }),
      anEndpoint({
        provider: aProvider({ slug: 'giver' }),
        pricing: FREE,
        capabilities: { variant: 'free' },
      }),
    ],
  }),
);

const holdOf = (model: string): bigint =>
  estimateHold(catalogue, { api: 'chat', models: [model], promptTokens: 100, maxTokens: 10, answers: 1 });

describe('the hold of a call', () => {
  it.each(['acme/talker-2', 'acme/talker-2:nitro', '~acme/talker-latest', '~acme/talker-latest:floor'])(
    'is that of the model that is meant: %s',
    (name) => {
      // 100 tokens at 10 and 10 tokens at 20 dollars per million.
      expect(holdOf(name)).toBe(1_200_000_000n);
    },
  );

  it.each(['acme/talker-2:free', 'acme/talker-2:free:nitro', '~acme/talker-latest:floor:free'])(
    'is nothing where only free endpoints are meant: %s',
    (name) => {
      expect(endpointsNamed(name, catalogue).map(({ provider }) => provider.slug)).toEqual(['giver']);
      expect(holdOf(name)).toBe(0n);
    },
  );

  it('counts as much output as each endpoint gives at most, at the dearest of them', () => {
    const endpoints = [
      anEndpoint({ pricing: { prompt: 0n, completion: parseRate('0.00002') }, maxCompletionTokens: 1_000 }),
      anEndpoint({ pricing: { prompt: 0n, completion: parseRate('0.00001') }, maxCompletionTokens: 4_000 }),
    ];
    const short = aCatalogue(aModel({ slug: 'acme/short', endpoints }));
    const hold = (maxTokens: number): bigint =>
      estimateHold(short, { api: 'chat', models: ['acme/short'], promptTokens: 0, maxTokens, answers: 1 });
    // The first is the dearest up to 2,000 tokens, and is never sent a cap of more than 1,000.
    expect([hold(1_000), hold(2_000), hold(32_000)]).toEqual([20_000_000_000n, 20_000_000_000n, 40_000_000_000n]);
  });

  it('is at the highest rates that a prompt of this length can meet', () => {
    const overrides = [
      { minPromptTokens: 100, rates: { prompt: parseRate('0.00003') } },
      { minPromptTokens: 201, rates: { prompt: parseRate('1') } },
      { utcStart: 1, utcEnd: 2, rates: { completion: parseRate('0.00004') } },
    ];
    const long = aCatalogue(
      aModel({ slug: 'acme/long', endpoints: [anEndpoint({ pricing: { ...DEAR, overrides } })] }),
    );
    const asked = { api: 'chat', models: ['acme/long'], promptTokens: 100, maxTokens: 10, answers: 1 } as const;
    expect(estimateHold(long, asked)).toBe(3_400_000_000n);
  });

  it('is at the rates of longer prompts where this one may have more tokens than are estimated', () => {
    const overrides = [{ minPromptTokens: 192, rates: { prompt: parseRate('0.00003') } }];
    const hold = (promptTokens: number): bigint =>
      estimateHold(
        aCatalogue(aModel({ slug: 'acme/long', endpoints: [anEndpoint({ pricing: { ...DEAR, overrides } })] })),
        { api: 'chat', models: ['acme/long'], promptTokens, maxTokens: 0, answers: 1 },
      );
    // An estimate may be half of the tokens that the provider counts.
    expect([hold(95), hold(96)]).toEqual([950_000_000n, 2_880_000_000n]);
  });

  it.each([
    ['acme-1', 36_100],
    ['claude-opus-4-7', 4_884],
    ['gpt-4o-mini', 48_269],
  ])('counts a picture behind a link as %s does', (upstreamModel, tokens) => {
    const body = { messages: [{ content: [{ type: 'image_url', image_url: { url: 'https://pictures.example/a' } }] }] };
    const { kinds } = estimatePrompt(Buffer.from(JSON.stringify(body)));
    const endpoints = [anEndpoint({ upstreamModel, pricing: DEAR, contextLength: 100_000 })];
    const asked = { api: 'chat', models: ['acme/eye'], promptTokens: 36_100, promptKinds: kinds } as const;
    const hold = estimateHold(aCatalogue(aModel({ slug: 'acme/eye', endpoints })), {
      ...asked,
      maxTokens: 0,
      answers: 1,
    });
    // At 10 dollars per million.
    expect(hold).toBe(BigInt(tokens) * 10_000_000n);
  });

  it.each([
    [{ max_inputs: 10 }, { answers: 25, bodyBytes: 0 }, 3],
    [{ max_inputs: 10, max_request_tokens: 500 }, { answers: 25, bodyBytes: 1_500 }, 6],
    [{ max_request_tokens: 500 }, { answers: 2, bodyBytes: 9_000 }, 2],
    [{}, { answers: 25, bodyBytes: 9_000 }, 1],
  ])('reserves a request for each call that embeddings take with %j: %j', (embeddings, size, requests) => {
    const pricing = { prompt: 0n, completion: 0n, request: parseRate('0.01') };
    const endpoint = anEndpoint({ apis: ['embeddings'], capabilities: { embeddings }, pricing });
    const asked = {
      api: 'embeddings',
      models: ['acme/e'],
      promptTokens: 9,
      maxTokens: null,
      ...size,
    } as const;
    const hold = estimateHold(aCatalogue(aModel({ slug: 'acme/e', endpoints: [endpoint] })), asked);
    expect(hold).toBe(BigInt(requests) * 10_000_000_000n);
  });

  const pricing = { ...DEAR, webSearch: parseRate('0.01'), tools: { file_search: parseRate('0.0025') } };
  const toolHold = (tools: readonly object[], more: object = {}, overrides: PriceList['overrides'] = []): bigint => {
    const endpoint = anEndpoint({ apis: ['responses'], contextLength: 400_000, pricing: { ...pricing, overrides } });
    return estimateHold(aCatalogue(aModel({ slug: 'acme/tools', endpoints: [endpoint] })), {
      api: 'responses',
      models: ['acme/tools'],
      promptTokens: 0,
      maxTokens: 0,
      answers: 1,
      toolUses: APIS.responses.toolUsesOf({ tools, ...more }),
    });
  };

  it('is also for the uses of the tools that the provider runs, and what its model reads again', () => {
    expect(toolHold([])).toBe(0n);
    // 5 searches at 0.01 dollars, and 8,000 * (1 + 2 + 3 + 4 + 5) tokens at 10 dollars per million.
    expect(toolHold([{ type: 'web_search' }])).toBe(1_250_000_000_000n);
    // 5 uses of either. A file search brings the most, 16,000 tokens.
    expect(toolHold([{ type: 'web_search' }, { type: 'file_search' }])).toBe(2_450_000_000_000n);
  });

  it('is for all uses that the caller allows', () => {
    expect(toolHold([{ type: 'web_search' }], { max_tool_calls: 1 })).toBe(90_000_000_000n);
    expect(toolHold([{ type: 'web_search' }], { max_tool_calls: 20 })).toBe(17_000_000_000_000n);
  });

  it('is at the rates that all that is read may meet', () => {
    const long = { minPromptTokens: 120_000, rates: { prompt: parseRate('0.00002') } };
    expect(toolHold([{ type: 'web_search' }], {}, [long])).toBe(2_450_000_000_000n);
    expect(toolHold([{ type: 'web_search' }], { max_tool_calls: 4 }, [long])).toBe(840_000_000_000n);
  });

  describe('with a compaction', () => {
    const compact = { type: 'compact_20260112' };
    const messageHold = (promptTokens: number, edits: readonly object[], more: object = {}): bigint => {
      const endpoint = anEndpoint({ apis: ['messages'], contextLength: 400_000, maxCompletionTokens: 64_000, pricing });
      return estimateHold(aCatalogue(aModel({ slug: 'acme/compact', endpoints: [endpoint] })), {
        api: 'messages',
        models: ['acme/compact'],
        promptTokens,
        maxTokens: 0,
        answers: 1,
        toolUses: APIS.messages.toolUsesOf({ context_management: { edits }, ...more }),
      });
    };

    it('is also for reading the prompt once more, and for a summary', () => {
      // 30,000 tokens twice at 10, and 20,000 tokens at 20 dollars per million.
      expect(messageHold(30_000, [compact])).toBe(1_000_000_000_000n);
      expect(messageHold(30_000, [{ type: 'clear_tool_uses_20250919' }])).toBe(300_000_000_000n);
    });

    it('is for the longest answer where the caller says how to summarize', () => {
      expect(messageHold(30_000, [{ ...compact, instructions: 'Repeat all.' }])).toBe(1_880_000_000_000n);
    });

    it('is as without it where the context is too short for it', () => {
      expect(messageHold(29_999, [compact])).toBe(299_990_000_000n);
      const tools = [{ type: 'web_fetch_20250910', name: 'web_fetch', max_uses: 1 }];
      expect(messageHold(20_000, [compact], { tools })).toBeGreaterThan(messageHold(20_000, [], { tools }));
      expect(messageHold(19_000, [compact], { tools })).toBe(messageHold(19_000, [], { tools }));
    });
  });

  it('is nothing for a model that nobody knows', () => {
    expect(holdOf('acme/none')).toBe(0n);
  });
});
