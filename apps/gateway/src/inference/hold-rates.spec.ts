import {
  emptyUsage,
  estimatePrompt,
  parseRate,
  priceUsage,
  quoteVideo,
  type BilledUnits,
  type CallableApi,
  type PriceList,
  type Usage,
} from '@libs/inference';
import { aCatalogue, aModel, anEndpoint, aProvider } from '@libs/inference/testing';
import { BatchEstimate } from '../batches/batch-estimate';
import { readBatchLine } from '../batches/batch-line';
import { checkCall } from './checked-call';
import { estimateHold } from '../routing/hold-estimate';

const MODEL = 'acme/all-rates';
const BASE: PriceList = { prompt: parseRate('0.000001'), completion: parseRate('0.000002') };
const DEAR = parseRate('0.0001');

/** Silence of so many seconds as a WAV file, in base64. */
const recording = (seconds: number): string => Buffer.alloc(44 + seconds * 16_000).toString('base64');
const PICTURE = Buffer.alloc(300_000).toString('base64');

const chat = (content: unknown, more: object = {}) => ({
  model: MODEL,
  max_tokens: 100,
  messages: [{ role: 'user', content }],
  ...more,
});
const heard = chat([{ type: 'input_audio', input_audio: { data: recording(60), format: 'wav' } }]);
const seen = chat([{ type: 'image_url', image_url: { url: `data:image/png;base64,${PICTURE}` } }]);
const LONG = 'all work and no play '.repeat(500);
const marked = (cache: object) => chat([{ type: 'text', text: LONG, cache_control: cache }]);
const search = { type: 'web_search_20250305', name: 'web_search' };

/** A request, and what its provider counts of it. */
interface Trigger {
  readonly api?: CallableApi;
  readonly body: object;
  readonly usage?: Partial<Usage>;
  readonly units?: BilledUnits;
}

const spent = { completionTokens: 100 };
const written = { promptTokens: 2_000, cacheWriteTokens: 2_000 };

/** How a call comes to each rate of a price list. What a new rate is triggered by must be said here to compile. */
const TRIGGERS: Readonly<Record<Exclude<keyof PriceList, Priced>, Readonly<Record<string, Trigger>>>> = {
  prompt: { text: { body: chat(LONG), usage: { promptTokens: 2_000 } } },
  completion: { text: { body: chat('Hi'), usage: spent } },
  inputCacheRead: { 'a repeated prompt': { body: chat(LONG), usage: { promptTokens: 2_000, cachedTokens: 2_000 } } },
  inputCacheWrite: {
    'a mark on a part': { body: marked({ type: 'ephemeral' }), usage: written },
    'a mark on a tool': {
      body: chat(LONG, {
        tools: [{ type: 'function', function: { name: 'f' }, cache_control: { type: 'ephemeral' } }],
      }),
      usage: written,
    },
    'a mark on the whole request': { body: chat(LONG, { cache_control: { type: 'ephemeral' } }), usage: written },
    'a breakpoint': {
      body: chat([{ type: 'text', text: LONG, prompt_cache_breakpoint: { mode: 'explicit' } }]),
      usage: written,
    },
  },
  inputCacheWrite1h: {
    'a mark for an hour': {
      body: marked({ type: 'ephemeral', ttl: '1h' }),
      usage: written,
      units: { cacheWrite1hTokens: 2_000 },
    },
    'a mark for an hour before one for minutes': {
      body: chat([
        { type: 'text', text: LONG, cache_control: { type: 'ephemeral', ttl: '1h' } },
        { type: 'text', text: 'Hi', cache_control: { type: 'ephemeral', ttl: '5m' } },
      ]),
      usage: written,
      units: { cacheWrite1hTokens: 2_000 },
    },
    'a mark for an hour on the whole request': {
      api: 'messages',
      body: chat(LONG, { cache_control: { type: 'ephemeral', ttl: '1h' } }),
      usage: written,
      units: { cacheWrite1hTokens: 2_000 },
    },
  },
  audio: {
    'a recording': { body: heard, usage: { promptTokens: 1_920, audioPromptTokens: 1_920 } },
    'a recording in a file': {
      body: chat([{ type: 'file', file: { file_data: `data:audio/wav;base64,${recording(60)}` } }]),
      usage: { promptTokens: 1_920, audioPromptTokens: 1_920 },
    },
    'a recording in a response': {
      api: 'responses',
      body: {
        model: MODEL,
        max_output_tokens: 100,
        input: [
          { role: 'user', content: [{ type: 'input_audio', input_audio: { data: recording(60), format: 'wav' } }] },
        ],
      },
      usage: { promptTokens: 1_920, audioPromptTokens: 1_920 },
    },
    'the sound of a film': {
      body: chat([{ type: 'video_url', video_url: { url: `data:video/mp4;base64,${recording(60)}` } }]),
      usage: { promptTokens: 4_000, audioPromptTokens: 440 },
    },
    'an answer spoken before': {
      body: {
        model: MODEL,
        messages: [
          { role: 'user', content: 'Hi' },
          { role: 'assistant', audio: { id: 'audio_1' } },
          { role: 'user', content: 'And?' },
        ],
      },
      usage: { promptTokens: 1_000, audioPromptTokens: 1_000 },
    },
  },
  inputAudioCache: {
    'a repeated recording': {
      body: heard,
      usage: { promptTokens: 1_920, audioPromptTokens: 1_920, cachedTokens: 1_920 },
    },
  },
  imageToken: {
    'a picture': { body: seen, usage: { promptTokens: 1_000 }, units: { imageTokens: 1_000 } },
    'a picture in a message': {
      api: 'messages',
      body: chat([{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: PICTURE } }]),
      usage: { promptTokens: 1_000 },
      units: { imageTokens: 1_000 },
    },
  },
  videoToken: {
    'a film': {
      body: chat([{ type: 'video_url', video_url: { url: `data:video/mp4;base64,${recording(60)}` } }]),
      usage: { promptTokens: 4_000, videoPromptTokens: 4_000 },
    },
  },
  image: { 'a picture': { body: seen, units: { images: 1 } } },
  audioOutput: {
    'a spoken answer': { body: chat('Hi'), usage: { ...spent, audioCompletionTokens: 100 } },
  },
  imageOutputToken: {
    'a painted answer': { body: chat('Hi'), usage: { ...spent, imageCompletionTokens: 100 } },
  },
  imageOutput: { 'a painted answer': { body: chat('Hi'), units: { outputImages: 2 } } },
  internalReasoning: { 'a thought': { body: chat('Hi'), usage: { ...spent, reasoningTokens: 100 } } },
  request: { 'any call': { body: chat('Hi') } },
  webSearch: {
    'the tool': { api: 'messages', body: chat('Hi', { tools: [search] }), units: { webSearches: 4 } },
    'options of a chat': { body: chat('Hi', { web_search_options: {} }), units: { webSearches: 4 } },
    'a model that always searches': { body: chat('Hi'), units: { webSearches: 4 } },
  },
  tools: {
    'the tool': {
      api: 'responses',
      body: { model: MODEL, input: 'Hi', max_output_tokens: 100, tools: [{ type: 'file_search' }] },
      units: { tools: new Map([['file_search', 4]]) },
    },
  },
};

/** Rates of jobs, whose prices are known by length before they begin, and the overrides, which have specs of their own. */
type Priced = 'audioSecond' | 'audioOptions' | 'video' | 'videoSecond' | 'videoSecondByResolution' | 'overrides';

const apisOf = (name: string): readonly CallableApi[] =>
  name === 'a model that always searches' ? ['chat'] : ['chat', 'responses', 'messages'];

const CASES = Object.entries(TRIGGERS).flatMap(([rate, triggers]) =>
  Object.entries(triggers).map(([name, trigger]) => ({ rate, name, ...trigger })),
);

/** Rates of uses, which are dearer than those of tokens. */
const PER_USE = new Set(['request', 'image', 'imageOutput', 'webSearch']);

function listWith(rate: string): PriceList {
  const perUse = DEAR * 1_000n;
  if (rate === 'tools') return { ...BASE, tools: { file_search: perUse } };
  return { ...BASE, [rate]: PER_USE.has(rate) ? perUse : DEAR };
}

function holdOf(pricing: PriceList, { api = 'chat', body, name }: (typeof CASES)[number]): bigint {
  const { tokens, kinds } = estimatePrompt(Buffer.from(JSON.stringify(body)));
  const { route, ...expected } = checkCall(api, body);
  const endpoint = anEndpoint({ apis: apisOf(name), pricing });
  const catalogue = aCatalogue(aModel({ slug: MODEL, endpoints: [endpoint] }));
  const models = [route.model, ...route.models];
  return estimateHold(catalogue, { api, models, promptTokens: tokens, promptKinds: kinds, ...expected });
}

describe('the hold of a call', () => {
  it.each(CASES)('covers the rate $rate, triggered by $name', (trigger) => {
    const pricing = listWith(trigger.rate);
    const charge = priceUsage(pricing, { ...emptyUsage('upstream'), ...trigger.usage }, trigger.units).totalCost;
    expect(holdOf(pricing, trigger)).toBeGreaterThanOrEqual(charge);
    expect(charge).toBeGreaterThan(0n);
  });

  it('is covered by names and times that are written with escapes', () => {
    const body = String.raw`{"messages":[{"role":"user","content":[{"text":"x","cache\u005fcontrol":{"t\u0074l":"1\u0068"}}]}]}`;
    expect(estimatePrompt(Buffer.from(body)).kinds).toMatchObject({ cacheWrite: '1h' });
  });

  it('is not raised by words of a text, or by a schema that has a time to live', () => {
    const tools = [{ type: 'function', function: { name: 'f', parameters: { properties: { ttl: { type: '1h' } } } } }];
    const body = chat('cache_control ttl 1h', { tools, metadata: { cache_control: 'x' } });
    expect(estimatePrompt(Buffer.from(JSON.stringify(body))).kinds).toBeNull();
  });

  it.each(['prompt', 'request', 'inputCacheWrite', 'inputCacheWrite1h', 'webSearch', 'tools'] as const)(
    'of a batch covers the rate %s, line by line',
    (rate) => {
      for (const trigger of Object.values<Trigger>(TRIGGERS[rate])) {
        const pricing = listWith(rate);
        const estimate = new BatchEstimate();
        const lines = ['a', 'b', 'c'];
        for (const [index, custom_id] of lines.entries()) {
          estimate.add(readBatchLine(index, Buffer.from(JSON.stringify({ custom_id, body: trigger.body }))));
        }
        const usage = { ...emptyUsage('upstream'), ...trigger.usage };
        const endpoint = anEndpoint({ apis: ['chat'], provider: aProvider({}), pricing, batchPricing: pricing });
        const charge = priceUsage(pricing, usage, trigger.units).totalCost * BigInt(lines.length);
        expect(estimate.costAt(endpoint, trigger.api ?? 'chat')).toBeGreaterThanOrEqual(charge);
      }
    },
  );

  it('of a video is its price by length', () => {
    const video = { durationSeconds: 8, resolution: '1080p', width: 1_920, height: 1_080 } as const;
    for (const pricing of [
      { ...BASE, completion: 0n, video: DEAR },
      { ...BASE, completion: 0n, videoSecond: DEAR },
      { ...BASE, completion: 0n, videoSecondByResolution: { '1080p': DEAR } },
    ]) {
      const units = { videos: 1, videoMs: 8_000, videoResolution: '1080p' };
      const charge = priceUsage(pricing, emptyUsage('upstream'), units).totalCost;
      expect(quoteVideo(pricing, video).totalCost).toBe(charge);
      expect(charge).toBeGreaterThan(0n);
    }
  });
});
