import type { AnswerStream } from '../model/answer-stream';
import { parseRate } from '../pricing/money';
import type { PriceList } from '../pricing/price';
import type { UpstreamStream } from '../wire/upstream-stream';
import { aModel, anEndpoint } from '../testing';
import { StreamMeter } from './answer-billing';
import type { AnswerContext } from './dialect';
import { TRANSLATIONS } from './dialect-pairs';
import { googleGenerateContent } from './google-generate-content';
import { translateAnswer } from './translated-answer';
import { TranslatedStream } from './translated-stream';
import { dialectOf } from '.';

const BY_TOKEN: PriceList = {
  prompt: 0n,
  completion: parseRate('0.0000025'),
  imageOutputToken: parseRate('0.00003'),
  audioOutput: parseRate('0.00008'),
};
const BY_PICTURE: PriceList = { prompt: 0n, completion: 0n, imageOutput: parseRate('0.04') };
const PICTURE = 'iVBORw0K'.repeat(1_000);
const URL = `data:image/png;base64,${PICTURE}`;
/** 1,290 tokens at 30 dollars per million. */
const ONE_PICTURE = 0.0387;

function contextOf(pricing: PriceList, request: object = {}, paints = true): AnswerContext {
  const endpoint = anEndpoint({ pricing });
  const architecture = { ...aModel().architecture, outputModalities: paints ? ['text', 'image'] : ['text'] };
  return {
    generationId: 'gen-1',
    model: aModel({ endpoints: [endpoint], architecture }),
    endpoint,
    priceList: 'standard',
    beganMs: 0,
    requestBody: Buffer.from(JSON.stringify(request)),
  };
}

/** A body that breaks off after these events. */
function cutAfter(events: readonly object[]): UpstreamStream {
  const left = events.map((event) => Buffer.from(`data: ${JSON.stringify(event)}\n\n`));
  return { read: async () => left.shift() ?? null, leave: () => 0, cancel: () => undefined, discard: () => undefined };
}

async function priceOf(stream: AnswerStream): Promise<number> {
  for await (const _bytes of stream) continue;
  return Number((await stream.outcome).cost.totalCost) / 1e12;
}

const chunk = (delta: object) => ({ id: 'c', choices: [{ index: 0, delta, finish_reason: null }] });
const painted = chunk({ images: [{ type: 'image_url', image_url: { url: URL } }] });
const openChat = (events: readonly object[], context: AnswerContext) =>
  dialectOf('chat').openStream!(cutAfter(events), context);
const openGemini = (events: readonly object[], context: AnswerContext) =>
  TranslatedStream.open(cutAfter(events), context, {
    reader: googleGenerateContent.readStream(context.endpoint),
    writer: TRANSLATIONS.get('chat')!.caller.writeStream(context),
  });
const inline = { candidates: [{ content: { parts: [{ inlineData: { mimeType: 'image/png', data: PICTURE } }] } }] };

describe('the charge for pictures and sound that a provider has not counted', () => {
  it.each([
    ['passed through', openChat, painted],
    ['translated', openGemini, inline],
  ])('is for each picture of a stream that broke, %s', async (_how, open, event) => {
    expect(await priceOf(await open([event], contextOf(BY_TOKEN)))).toBe(ONE_PICTURE);
    expect(await priceOf(await open([event, event], contextOf(BY_TOKEN)))).toBe(2 * ONE_PICTURE);
    expect(await priceOf(await open([event, event], contextOf(BY_PICTURE)))).toBe(0.08);
  });

  it('is for the pictures that came after the last report', async () => {
    const report = { id: 'c', choices: [], usage: { prompt_tokens: 5, completion_tokens: 0, total_tokens: 5 } };
    expect(await priceOf(await openChat([report, painted], contextOf(BY_TOKEN)))).toBe(ONE_PICTURE);
  });

  it('is for the pictures of a whole answer without usage, and for those that are sold by the piece', () => {
    const message = { role: 'assistant', content: null, images: [{ type: 'image_url', image_url: { url: URL } }] };
    const usage = { prompt_tokens: 5, completion_tokens: 1_290, total_tokens: 1_295 };
    const answer = { id: 'c', choices: [{ index: 0, message, finish_reason: 'stop' }] };
    const priced = (pricing: PriceList, more: object): readonly bigint[] => {
      const body = Buffer.from(JSON.stringify({ ...answer, ...more }));
      const context = contextOf(pricing);
      const [chat, responses] = [TRANSLATIONS.get('chat')!, TRANSLATIONS.get('responses')!];
      const translated = translateAnswer(body, context, { caller: responses.caller, upstream: chat.upstream });
      return [dialectOf('chat').readAnswer(body, context), translated].map(({ cost }) => cost.totalCost);
    };
    expect(priced(BY_TOKEN, {})).toEqual([38_700_000_000n, 38_700_000_000n]);
    expect(priced(BY_PICTURE, { usage })).toEqual([40_000_000_000n, 40_000_000_000n]);
  });

  it('is for a use of the tool that made them, or as a picture where the tool has no price', () => {
    const use = { type: 'image_generation_call', id: 'i', status: 'completed', result: PICTURE };
    const usage = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };
    const body = Buffer.from(JSON.stringify({ id: 'r', status: 'completed', output: [use, use], usage }));
    const { upstream } = TRANSLATIONS.get('responses')!;
    const priced = (pricing: PriceList): readonly bigint[] => {
      const context = contextOf(pricing);
      const translated = (['chat', 'messages'] as const).map((api) =>
        translateAnswer(body, context, { caller: TRANSLATIONS.get(api)!.caller, upstream }),
      );
      return [dialectOf('responses').readAnswer(body, context), ...translated].map(({ cost }) => cost.totalCost);
    };
    const tools = { image_generation: parseRate('0.05') };
    const [byTool, byPicture] = [100_000_000_000n, 80_000_000_000n];
    expect(priced({ ...BY_PICTURE, tools })).toEqual([byTool, byTool, byTool]);
    expect(priced({ prompt: 0n, completion: 0n, tools })).toEqual([byTool, byTool, byTool]);
    expect(priced(BY_PICTURE)).toEqual([byPicture, byPicture, byPicture]);
    expect(priced({ ...BY_PICTURE, tools: { image_generation: 0n } })).toEqual([0n, 0n, 0n]);
  });

  it('is for the sound of a stream that broke', async () => {
    // One second of 16-bit samples at 24 kHz: 20 tokens at 80 dollars per million, and 3 of the words spoken.
    const data = Buffer.alloc(48_000).toString('base64');
    const spoken = chunk({ audio: { id: 'a', data, transcript: 'twelve bytes' } });
    expect(await priceOf(await openChat([spoken], contextOf(BY_TOKEN)))).toBe(0.00161);
  });

  it('is for a picture that may have been painted unseen when the caller left', () => {
    const left = (context: AnswerContext): number => Number(new StreamMeter(context).left().cost.totalCost) / 1e12;
    const asked = { modalities: ['image', 'text'] };
    expect(left(contextOf(BY_TOKEN, asked))).toBe(ONE_PICTURE);
    expect(left(contextOf(BY_PICTURE, asked))).toBe(0.04);
    expect(left(contextOf(BY_TOKEN))).toBe(ONE_PICTURE);
    expect(left(contextOf(BY_TOKEN, { modalities: ['text'] }))).toBe(0);
    expect(left(contextOf(BY_TOKEN, {}, false))).toBe(0);
  });

  it('is not for a picture that the call had no room for', () => {
    const expected = () => ({ maxTokens: 100, answers: 1, thinking: { isAsked: null, maxTokens: null } });
    const meter = new StreamMeter({ ...contextOf(BY_TOKEN), expected });
    expect(meter.left().usage.completionTokens).toBe(0);
  });
});

describe('a price for each picture of a prompt', () => {
  const PRICES: PriceList = { prompt: 0n, completion: 0n, image: parseRate('0.002') };
  const question = [{ type: 'text', text: 'Compare' }, picturePart(), picturePart()];
  const message = { role: 'assistant', content: 'Alike' };
  const chat = {
    id: 'c',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: { prompt_tokens: 600, completion_tokens: 1, total_tokens: 601 },
  };
  const said = {
    id: 'm',
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text: 'Alike' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 600, output_tokens: 1 },
  };
  const source = { type: 'base64', media_type: 'image/png', data: PICTURE };
  const TWO_PICTURES = 4_000_000_000n;

  function picturePart(): object {
    return { type: 'image_url', image_url: { url: URL } };
  }

  it('is charged for a whole answer of each dialect, translated or not', () => {
    const context = contextOf(PRICES, { messages: [{ role: 'user', content: question }] });
    const body = Buffer.from(JSON.stringify(chat));
    const [asChat, asResponses] = [TRANSLATIONS.get('chat')!, TRANSLATIONS.get('responses')!];
    expect(dialectOf('chat').readAnswer(body, context).cost.totalCost).toBe(TWO_PICTURES);
    const translated = translateAnswer(body, context, { caller: asResponses.caller, upstream: asChat.upstream });
    expect(translated.cost.totalCost).toBe(TWO_PICTURES);
    const content = [
      { type: 'image', source },
      { type: 'image', source },
    ];
    const ofMessages = contextOf(PRICES, { messages: [{ role: 'user', content }] });
    const { cost } = dialectOf('messages').readAnswer(Buffer.from(JSON.stringify(said)), ofMessages);
    expect(cost.totalCost).toBe(TWO_PICTURES);
  });

  it('is charged for a stream, also one that breaks off after some words', async () => {
    const context = contextOf(PRICES, { messages: [{ role: 'user', content: question }] });
    expect(await priceOf(await openChat([chunk({ content: 'Al' })], context))).toBe(0.004);
    const end = { ...chunk({}), choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: chat.usage };
    expect(await priceOf(await openChat([chunk({ content: 'Alike' }), end], context))).toBe(0.004);
  });

  it('is charged for embeddings', () => {
    const input = [{ content: [picturePart()] }, { content: [picturePart()] }];
    const data = [0, 1].map((index) => ({ object: 'embedding', index, embedding: [1] }));
    const answer = { object: 'list', data, usage: { prompt_tokens: 2, total_tokens: 2 } };
    const { cost } = dialectOf('embeddings').readAnswer(
      Buffer.from(JSON.stringify(answer)),
      contextOf(PRICES, { input }),
    );
    expect(cost.totalCost).toBe(TWO_PICTURES);
  });
});

describe('a price for each request', () => {
  const PRICES: PriceList = { prompt: 0n, completion: 0n, request: parseRate('0.005') };

  it.each(['chat', 'messages'] as const)('is not charged for a stream of %s in which nothing was said', async (api) => {
    const started = { id: 'm', type: 'message', role: 'assistant', content: [], usage: {} };
    const announced = { chat: chunk({ role: 'assistant' }), messages: { type: 'message_start', message: started } };
    const stream = await dialectOf(api).openStream!(cutAfter([announced[api]]), contextOf(PRICES)).catch(() => null);
    expect(stream === null ? 0 : await priceOf(stream)).toBe(0);
  });

  it('is charged for a stream that breaks off after some words', async () => {
    expect(await priceOf(await openChat([chunk({ content: 'Al' })], contextOf(PRICES)))).toBe(0.005);
  });
});
