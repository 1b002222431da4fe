import { APIS, estimatePrompt, estimatePromptTokens, parseRate, type CallableApi } from '@libs/inference';
import { aCatalogue, aModel, anEndpoint, aProvider, pngFile } from '@libs/inference/testing';
import { estimateHold } from '../routing/hold-estimate';
import { BatchEstimate } from './batch-estimate';
import { readBatchLine, type BatchLineDraft } from './batch-line';

const BASE = { prompt: parseRate('0.000001'), completion: parseRate('0.000005') };
const LONG = {
  minPromptTokens: 200_001,
  rates: { prompt: parseRate('0.00001'), completion: parseRate('0.00005') },
};
const endpointAt = (pricing: object) =>
  anEndpoint({ provider: aProvider({ batch: 'native' }), pricing: { ...BASE, ...pricing } });

const lineWith = (body: Buffer, maxOutputTokens: number | null): BatchLineDraft => ({
  customId: 'one',
  body,
  prompt: estimatePrompt(body),
  model: null,
  maxOutputTokens: { chat: maxOutputTokens, responses: maxOutputTokens, messages: maxOutputTokens },
  asksToThink: false,
  choices: 1,
  toolUses: null,
});

/** Three bytes of plain text are taken for a token. */
const lineOf = (promptTokens: number, maxOutputTokens: number | null = 1_000): BatchLineDraft =>
  lineWith(Buffer.alloc(promptTokens * 3, ' '), maxOutputTokens);

function costOf(lines: readonly BatchLineDraft[], pricing: object, api: CallableApi = 'chat'): bigint {
  const estimate = new BatchEstimate();
  for (const line of lines) estimate.add(line);
  return estimate.costAt(endpointAt(pricing), api);
}

describe(BatchEstimate.name, () => {
  it('takes the rates of long prompts for long prompts', () => {
    // 800,000 tokens at 10 and 1,000 at 50 dollars per million.
    expect(costOf([lineOf(800_000)], { overrides: [LONG] })).toBe(8_050_000_000_000n);
  });

  it('takes the base rates for short prompts, however many they are', () => {
    const lines = Array.from({ length: 500 }, () => lineOf(1_000));
    expect(costOf(lines, { overrides: [LONG] })).toBe(costOf(lines, {}));
    expect(costOf(lines, {})).toBe(3_000_000_000_000n);
  });

  it('is the sum over lines of all sizes', () => {
    const lines = [1, 2, 3, 4, 1_000, 262_143, 262_144, 1_000_000].map((tokens) => lineOf(tokens));
    const single = lines.reduce((sum, line) => sum + costOf([line], { overrides: [LONG] }), 0n);
    expect(costOf(lines, { overrides: [LONG] })).toBe(single);
  });

  it('is never below what a line near the bound is charged', () => {
    // Its size class reaches beyond the bound.
    expect(costOf([lineOf(200_000, 0)], { overrides: [LONG] })).toBe(2_000_000_000_000n);
  });

  it.each([88_000, 100_001, 150_000, 199_999])(
    'takes the rates of long prompts as a single call does (%s)',
    (tokens) => {
      const pricing = { ...BASE, overrides: [LONG] };
      const catalogue = aCatalogue(
        aModel({ slug: 'acme/m', endpoints: [anEndpoint({ pricing, contextLength: null })] }),
      );
      const asked = { api: 'chat' as const, models: ['acme/m'], promptTokens: tokens, maxTokens: 1_000, answers: 1 };
      expect(costOf([lineOf(tokens)], { overrides: [LONG] })).toBe(estimateHold(catalogue, asked));
    },
  );

  it('counts pictures as the models of an endpoint do', () => {
    const provider = aProvider({ batch: 'native' });
    const endpoint = anEndpoint({ provider, upstreamModel: 'gpt-4o-mini', pricing: BASE, contextLength: null });
    const picture = {
      type: 'image_url',
      image_url: { url: `data:image/png;base64,${pngFile(64, 64).toString('base64')}` },
    };
    const body = Buffer.from(JSON.stringify({ messages: [{ role: 'user', content: [picture, picture] }] }));
    const { tokens: promptTokens, kinds: promptKinds } = estimatePrompt(body);
    const catalogue = aCatalogue(aModel({ slug: 'acme/m', endpoints: [endpoint] }));
    const asked = { api: 'chat' as const, models: ['acme/m'], promptTokens, promptKinds, maxTokens: 1, answers: 1 };
    const estimate = new BatchEstimate();
    estimate.add(lineWith(body, 1));
    expect(estimate.costAt(endpoint, 'chat')).toBe(estimateHold(catalogue, asked));
    // 8,500 tokens a picture; other models count a few hundred.
    expect(estimate.costAt(endpoint, 'chat')).toBeGreaterThan(17_000n * 1_000_000n);
  });

  it('counts symbols and rare scripts by their tokens, which are more than a third of their bytes', () => {
    const text = JSON.stringify({ messages: [{ role: 'user', content: '𒀀𓀀𐎀{}[]<>'.repeat(500) }] });
    const tokens = estimatePromptTokens(Buffer.from(text));
    expect(tokens).toBeGreaterThan(Buffer.byteLength(text) / 2);
    expect(costOf([lineWith(Buffer.from(text), 0)], {})).toBe(BigInt(tokens) * 1_000_000n);
  });

  it('takes all tokens of an answer for those of pictures where they are dearer', () => {
    const pictures = { imageOutputToken: parseRate('0.00003') };
    expect(costOf([lineOf(10)], pictures) - costOf([lineOf(10, 0)], pictures)).toBe(30_000_000_000n);
  });

  it('takes the highest rates of the day', () => {
    const night = { utcStart: 0, utcEnd: 6, rates: { prompt: parseRate('0.000002') } };
    const cheap = { utcStart: 6, utcEnd: 12, rates: { prompt: 0n } };
    expect(costOf([lineOf(1_000, 0)], { overrides: [night, cheap] })).toBe(2_000_000_000n);
  });

  it('counts the price of each request', () => {
    const lines = [lineOf(10, 0), lineOf(20, 0), lineOf(5_000, 0)];
    const request = parseRate('0.01');
    expect(costOf(lines, { request }) - costOf(lines, {})).toBe(30_000_000_000n);
  });

  it('counts no generated tokens for embeddings, and 1,024 for an answer without a limit', () => {
    expect(costOf([lineOf(0, null)], {}, 'embeddings')).toBe(0n);
    expect(costOf([lineOf(0, null), { ...lineOf(0, null), choices: 2 }], {})).toBe(3n * 1_024n * 5_000_000n);
  });

  it('reads each line with the caps of the API of the batch', () => {
    const line = { ...lineOf(0, null), maxOutputTokens: { chat: 10, responses: 20, messages: 30 } };
    const costs = (['chat', 'responses', 'messages'] as const).map((api) => costOf([line], {}, api));
    expect(costs).toEqual([50_000_000n, 100_000_000n, 150_000_000n]);
  });

  it('counts for an answer without a cap on messages what the gateway asks of its provider', () => {
    const estimate = new BatchEstimate();
    estimate.add(lineOf(0, null));
    const at = (maxCompletionTokens: number | null) =>
      anEndpoint({ apis: ['messages'], provider: aProvider({ batch: 'native' }), maxCompletionTokens, pricing: BASE });
    expect(estimate.costAt(at(64_000), 'messages')).toBe(64_000n * 5_000_000n);
    expect(estimate.costAt(at(null), 'messages')).toBe(4_096n * 5_000_000n);
    expect(estimate.costAt(at(64_000), 'chat')).toBe(1_024n * 5_000_000n);
  });

  it('does not rely on a cap that a model which is asked to think may not be sent', () => {
    const provider = aProvider({ batch: 'native', protocol: 'bedrock' });
    const nova = anEndpoint({ provider, upstreamModel: 'amazon.nova-2-lite-v1:0', pricing: BASE });
    const costAt = (asksToThink: boolean): bigint => {
      const estimate = new BatchEstimate();
      estimate.add({ ...lineOf(0, 1), asksToThink });
      return estimate.costAt(nova, 'chat');
    };
    expect([costAt(false), costAt(true)]).toEqual([5_000_000n, 1_025n * 5_000_000n]);
  });

  describe('of lines whose provider runs tools', () => {
    const pricing = {
      ...BASE,
      inputCacheWrite: parseRate('0.00000125'),
      webSearch: parseRate('0.01'),
      overrides: [LONG],
    };
    const endpoint = anEndpoint({
      apis: ['messages', 'responses'],
      provider: aProvider({ batch: 'native' }),
      contextLength: 200_000,
      pricing,
    });
    const bodyWith = (maxUses: number | undefined, text = 'Search.') => ({
      max_tokens: 500,
      max_output_tokens: 500,
      max_tool_calls: maxUses,
      tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: maxUses }],
      messages: [{ role: 'user', content: text }],
    });
    const add = (estimate: BatchEstimate, bodies: readonly object[]): BatchEstimate => {
      for (const body of bodies) estimate.add(readBatchLine(0, Buffer.from(JSON.stringify({ custom_id: 'a', body }))));
      return estimate;
    };
    const costOfLines = (bodies: readonly object[], api: CallableApi): bigint =>
      add(new BatchEstimate(), bodies).costAt(endpoint, api);
    const holdOf = (body: object, api: 'messages' | 'responses'): bigint => {
      const { tokens, kinds } = estimatePrompt(Buffer.from(JSON.stringify(body)));
      const catalogue = aCatalogue(aModel({ slug: 'acme/m', endpoints: [endpoint] }));
      const asked = { api, models: ['acme/m'], promptTokens: tokens, promptKinds: kinds, maxTokens: 500, answers: 1 };
      return estimateHold(catalogue, { ...asked, toolUses: APIS[api].toolUsesOf(body as Record<string, unknown>) });
    };

    it.each([
      ['messages', undefined],
      ['messages', 1],
      ['messages', 20],
      ['responses', undefined],
      ['responses', 30],
    ] as const)('is that of as many single calls: %s, at most %s uses', (api, maxUses) => {
      const body = bodyWith(maxUses);
      const lines = Array.from({ length: 100 }, () => body);
      const [batch, calls] = [costOfLines(lines, api), holdOf(body, api) * 100n];
      expect(batch).toBeGreaterThanOrEqual(calls);
      expect(Number(batch)).toBeLessThan(Number(calls) * 1.02);
    });

    it('prices lines with many uses apart from lines with few', () => {
      const [few, many] = [bodyWith(1), bodyWith(20)];
      const apart = costOfLines([few], 'messages') * 99n + costOfLines([many], 'messages');
      expect(costOfLines([...Array.from({ length: 99 }, () => few), many], 'messages')).toBe(apart);
    });

    it('is no less than the sum of the lines where they have prompts of all sizes', () => {
      const bodies = Array.from({ length: 60 }, (_, at) => bodyWith((at % 3) + 1, 'word '.repeat(at * 400)));
      const single = bodies.reduce((sum, body) => sum + costOfLines([body], 'messages'), 0n);
      const batch = costOfLines(bodies, 'messages');
      expect(batch).toBeGreaterThanOrEqual(single);
      expect(Number(batch)).toBeLessThan(Number(single) * 1.05);
    });

    it('is bounded by a profile of all where lines have more combinations than are kept', () => {
      const bodies = Array.from({ length: 100 }, (_, at) => bodyWith(at + 1));
      const single = bodies.reduce((sum, body) => sum + costOfLines([body], 'messages'), 0n);
      expect(costOfLines(bodies, 'messages')).toBeGreaterThanOrEqual(single);
    });
  });
});
