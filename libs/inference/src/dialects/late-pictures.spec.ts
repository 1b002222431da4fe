import { parseRate } from '../pricing/money';
import type { PriceList } from '../pricing/price';
import { charged, chatEnd, chatUsage, chunk, type StreamedEvent as Event } from '../testing/billed-streams';
import type { StreamableApi } from './dialect-pairs';

const APIS: readonly StreamableApi[] = ['chat', 'responses', 'messages'];
const BY_TOKEN: PriceList = {
  prompt: 0n,
  completion: parseRate('0.000001'),
  imageOutputToken: parseRate('0.00003'),
};
const BY_PICTURE: PriceList = { prompt: 0n, completion: 0n, imageOutput: parseRate('0.04') };
/** 1,290 tokens at 30 dollars per million. */
const PICTURE_USD = 0.0387;
const PICTURE = 'iVBORw0K'.repeat(100);

const chatPicture = chunk({ images: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${PICTURE}` } }] });
const candidate = (parts: readonly object[], more: object = {}): Event => ({
  responseId: 'g',
  candidates: [{ content: { parts }, finishReason: 'STOP' }],
  ...more,
});
const geminiUsage = (tokens: number) => ({ usageMetadata: { promptTokenCount: 1, candidatesTokenCount: tokens } });
const geminiPicture = candidate([{ inlineData: { mimeType: 'image/png', data: PICTURE } }]);

describe('the charge for pictures that a stream shows after its last usage', () => {
  describe.each(APIS)('at %s is', (caller) => {
    it.each([1, 1_290, 9_000])('that are sold by the piece, of chat after a usage of %d tokens', async (tokens) => {
      const events = [chunk({ content: 'Hi' }, chatUsage(tokens)), chatPicture, chatPicture, chatEnd];
      const { usd, shown } = await charged(caller, 'chat', BY_PICTURE, events);
      expect([usd, shown]).toEqual([0.08, 0.08]);
    });

    it.each([1, 1_290, 9_000])('that are sold by the piece, of Gemini after a usage of %d tokens', async (tokens) => {
      const events = [candidate([{ text: 'Hi' }], geminiUsage(tokens)), geminiPicture];
      expect(await charged(caller, 'gemini', BY_PICTURE, events)).toMatchObject({ usd: 0.04, shown: 0.04 });
    });

    it.each([1, 1_290, 9_000])('that are sold by tokens, of chat after a usage of %d tokens', async (tokens) => {
      const events = [chunk({ content: 'Hi' }, chatUsage(tokens)), chatPicture, chatEnd];
      const { usd, shown } = await charged(caller, 'chat', BY_TOKEN, events);
      expect(usd).toBeCloseTo(PICTURE_USD + tokens / 1e6, 9);
      expect(shown).toBe(usd);
    });

    it.each([1, 1_290, 9_000])('that are sold by tokens, of Gemini after a usage of %d tokens', async (tokens) => {
      const events = [candidate([{ text: 'Hi' }], geminiUsage(tokens)), geminiPicture];
      const { usd } = await charged(caller, 'gemini', BY_TOKEN, events);
      expect(usd).toBeCloseTo(PICTURE_USD + tokens / 1e6, 9);
    });

    it('once, where the usage counts their tokens', async () => {
      const details = { completion_tokens_details: { image_tokens: 1_290 } };
      const events = [chunk({ content: 'Hi' }, chatUsage(1_291, details)), chatPicture, chatEnd];
      const { usd } = await charged(caller, 'chat', BY_TOKEN, events);
      expect(usd).toBeCloseTo(PICTURE_USD + 1 / 1e6, 9);
    });

    it('once, where they came before the usage and waited for a call', async () => {
      const call = (index: number, text: string) => ({
        index,
        id: `c${index}`,
        function: { name: 'f', arguments: text },
      });
      const events = [
        chunk({ tool_calls: [call(0, '{'), call(1, '{}')] }),
        chatPicture,
        chunk({}, chatUsage(1_400, { completion_tokens_details: { image_tokens: 1_290 } })),
        chatEnd,
      ];
      const { usd } = await charged(caller, 'chat', BY_TOKEN, events);
      expect(usd).toBeCloseTo(PICTURE_USD + 110 / 1e6, 9);
    });
  });
});
