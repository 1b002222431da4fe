import { callAbandoned } from '../model/cancellation';
import { UNKNOWN_PROMPT, type PromptEstimate } from '../model/json-shape';
import { PICTURE_LIMITS } from '../model/media-limits';
import { anAnswerContext, anEndpoint } from '../testing';
import { StreamMeter } from './answer-billing';
import { MessagesStream } from './anthropic-messages/relayed-stream';
import type { AnswerContext } from './dialect';
import { leftEmbeddings } from './openai-embeddings/dialect';
import { reservedCounts, unlikelyTokens } from './reserved-prompt';

const LINK = { type: 'file', file: { file_data: 'https://files.example.com/a.pdf' } };
const SOUND = { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } };
const PICTURE = { type: 'image_url', image_url: { url: 'https://files.example.com/a.png' } };

function contextOf(
  content: unknown,
  endpoint: Parameters<typeof anEndpoint>[0] = {},
  prompt?: Partial<PromptEstimate>,
): AnswerContext {
  return anAnswerContext({
    endpoint: anEndpoint({ contextLength: 200_000, ...endpoint }),
    requestBody: Buffer.from(JSON.stringify({ messages: [{ role: 'user', content }] })),
    ...(prompt && { prompt: { ...UNKNOWN_PROMPT, ...prompt } }),
  });
}

/** What a stream is billed that its caller leaves before the provider has reported anything. */
const leftOf = (context: AnswerContext) => new StreamMeter(context).left().usage;

describe('the prompt of a call that is left before its provider counts it', () => {
  it('is billed as it was measured', () => {
    const context = contextOf([LINK], {}, { tokens: 90_000, likelyTokens: 90_000 });
    expect(leftOf(context)).toMatchObject({ promptTokens: 90_000, provenance: 'partial' });
    expect(leftEmbeddings(context).usage).toMatchObject({ promptTokens: 90_000, provenance: 'estimated' });
  });

  it('is billed up to the context of the endpoint where its media cannot be measured', () => {
    expect(leftOf(contextOf([LINK])).promptTokens).toBe(200_000);
    expect(leftOf(contextOf([LINK], { contextLength: 1_000 })).promptTokens).toBe(1_000);
  });

  it('charges the most that its media may cost when its organization abandons too many calls', () => {
    const unproven = { tokens: 150_000, kinds: null };
    const context = contextOf([LINK], {}, { tokens: 90_000, likelyTokens: 90_000, unproven });
    expect(leftOf({ ...context, isUnread: () => false }).promptTokens).toBe(90_000);
    expect(leftOf({ ...context, isUnread: () => true }).promptTokens).toBe(150_000);
  });

  it('is billed with its pictures as the family of the model counts them', () => {
    const tokensAt = (upstreamModel: string) => leftOf(contextOf([PICTURE], { upstreamModel })).promptTokens;
    expect(tokensAt('gpt-5.6') - tokensAt('claude-opus-4-7')).toBe(PICTURE_LIMITS.other - PICTURE_LIMITS.claude);
  });

  it('is billed with its sound as sound', () => {
    const { promptTokens, audioPromptTokens } = leftOf(contextOf([SOUND]));
    expect(audioPromptTokens).toBeGreaterThan(0);
    expect(audioPromptTokens).toBeLessThanOrEqual(promptTokens);
  });

  it('is billed with its pictures at their own rate', () => {
    const context = contextOf([PICTURE], { pricing: { prompt: 0n, completion: 0n, imageToken: 1_000_000n } });
    const { totalCost } = new StreamMeter(context).left().cost;
    expect(totalCost).toBe(BigInt(PICTURE_LIMITS.other));
    expect(leftEmbeddings(context).cost.totalCost).toBe(totalCost);
  });

  it('is billed as the provider counted it where it did', () => {
    const meter = new StreamMeter(contextOf([LINK]));
    const counts = { completion: null, total: null, cached: null, cacheWrite: null, audioPrompt: null };
    meter.report({ ...counts, prompt: 7, reasoning: null, audioCompletion: null });
    expect(meter.left().usage.promptTokens).toBe(7);
  });

  it('is billed on a stream of messages that says nothing of it', async () => {
    const event = (type: string, members: object) =>
      Buffer.from(`event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`);
    const pieces = [
      event('message_start', { message: { id: 'msg_1', type: 'message', role: 'assistant', content: [] } }),
      event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    ];
    const read = async () => {
      if (pieces.length === 0) throw callAbandoned();
      return pieces.shift()!;
    };
    const upstream = { read, leave: () => 0, cancel: () => undefined, discard: () => undefined };
    const stream = await MessagesStream.open(upstream, contextOf([LINK], { apis: ['messages'] }));
    stream.cancel();
    const { state, usage } = await stream.outcome;
    expect([state, usage.promptTokens]).toEqual(['cancelled', 200_000]);
  });
});

describe(unlikelyTokens.name, () => {
  it('is what a bill of unmeasured media is usually too high by', () => {
    expect(
      unlikelyTokens(
        contextOf([LINK], {}, { tokens: 2_000_000, likelyTokens: 10_000, unlikelyMediaTokens: 1_990_000 }),
      ),
    ).toBe(190_000);
    expect(unlikelyTokens(contextOf('', {}, { tokens: 90_000, likelyTokens: 60_000 }))).toBe(0);
    expect(unlikelyTokens(contextOf([LINK], {}, { tokens: 90_000, likelyTokens: 90_000 }))).toBe(0);
    expect(unlikelyTokens(contextOf([LINK]))).toBe(0);
  });

  it('leaves nothing where more is likely than fits', () => {
    expect(unlikelyTokens(contextOf('', { contextLength: 10 }, { tokens: 50, likelyTokens: 20 }))).toBe(0);
    expect(reservedCounts(contextOf('', { contextLength: 10 }, { tokens: 50 }))).toMatchObject({ prompt: 10 });
  });
});
