import { callAbandoned } from '../model/cancellation';
import type { PriceList } from '../pricing/price';
import type { UpstreamStream } from '../wire/upstream-stream';
import { TRANSLATIONS, type StreamableApi } from '../dialects/dialect-pairs';
import { dialectOf } from '../dialects';
import { googleGenerateContent } from '../dialects/google-generate-content';
import { TranslatedStream } from '../dialects/translated-stream';
import type { UpstreamTranslation } from '../dialects/translation';
import { anAnswerContext } from './answer-context-fixture';
import { aModel, anEndpoint } from './catalogue-fixture';
import { textOf } from './frames';

/** The data of an event of an upstream. */
export interface StreamedEvent {
  readonly type?: string;
  readonly [field: string]: unknown;
}

/** A chunk of a chat completion. */
export const chunk = (delta: object, more: object = {}): StreamedEvent => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  ...more,
  choices: [{ index: 0, delta, finish_reason: null }],
});
/** A usage of so many output tokens, as a field of a chunk. */
export const chatUsage = (tokens: number, details: object = {}) => ({
  usage: { prompt_tokens: 1, completion_tokens: tokens, total_tokens: 1 + tokens, ...details },
});
export const chatEnd: StreamedEvent = {
  ...chunk({}),
  choices: [
    {
      index: 0,
      delta: {},
      finish_reason: 'stop',
    },
  ],
};
/** @param isOpen the stream does not end, and is given up when its caller has left */
export function sent(events: readonly StreamedEvent[], isOpen = false): UpstreamStream {
  const left = events.map((event) => {
    const head = event.type === undefined ? '' : `event: ${event.type}\n`;
    return Buffer.from(`${head}data: ${JSON.stringify(event)}\n\n`);
  });
  const over = Promise.withResolvers<null>();
  const end = (): void => over.resolve(null);
  const read = async (): Promise<Buffer | null> => {
    const piece = left.shift();
    if (piece !== undefined || !isOpen) return piece ?? null;
    await over.promise;
    throw callAbandoned();
  };
  return { read, leave: () => (end(), 0), cancel: end, discard: end };
}

/** Opens a stream of an upstream for a caller of another API, or of the same. */
export function opened(
  caller: StreamableApi,
  upstream: StreamableApi | 'gemini',
  pricing: PriceList,
  from: UpstreamStream,
) {
  const endpoint = anEndpoint({ contextLength: 1_000_000, pricing });
  const architecture = { ...aModel().architecture, outputModalities: ['text', 'image'] };
  const model = aModel({ contextLength: 1_000_000, endpoints: [endpoint], architecture });
  const requestBody = Buffer.from('{"model":"m","messages":[{"role":"user","content":"hi"}],"input":"hi"}');
  const context = anAnswerContext({ model, endpoint, requestBody });
  if (caller === upstream) return dialectOf(caller).openStream!(from, context);
  const read: UpstreamTranslation =
    upstream === 'gemini' ? googleGenerateContent : TRANSLATIONS.get(upstream)!.upstream;
  return TranslatedStream.open(from, context, {
    reader: read.readStream(endpoint),
    writer: TRANSLATIONS.get(caller)!.caller.writeStream(context),
  });
}

/** Sends the events and returns the charge in dollars, and the last cost that the caller is shown. */
export async function charged(
  caller: StreamableApi,
  upstream: StreamableApi | 'gemini',
  pricing: PriceList,
  events: readonly StreamedEvent[],
) {
  const stream = await opened(caller, upstream, pricing, sent(events));
  const text = await textOf(stream);
  const { cost, state } = await stream.outcome;
  const shown = [...text.matchAll(/"cost":([\d.e-]+)/g)].at(-1)?.[1];
  return { usd: Number(cost.totalCost) / 1e12, shown: Number(shown), state };
}
