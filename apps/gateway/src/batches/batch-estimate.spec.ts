import { estimatePrompt, estimatePromptTokens, parseRate, type CallableApi } from '@libs/inference';
import { anEndpoint, aProvider } from '@libs/inference/testing';
import { BatchEstimate } from './batch-estimate';
import type { BatchLineDraft } from './batch-line';

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
  tools: [],
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
});
