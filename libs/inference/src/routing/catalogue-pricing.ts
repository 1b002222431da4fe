import { formatRate, parseRate, type Rate } from '../pricing/money';
import type { PriceList } from '../pricing/price';
import type { Located, Mapping } from './catalogue-document';
import type { Api, BatchSupport } from './catalogue-entries';

type PlainPrice = Exclude<keyof PriceList, 'videoSecondByResolution'>;

/** The members of `pricing` in a file and what they are called here; `video_second_<resolution>` comes on top. */
const PRICE_MEMBERS: Readonly<Record<string, PlainPrice>> = {
  prompt: 'prompt',
  completion: 'completion',
  input_cache_read: 'inputCacheRead',
  input_cache_write: 'inputCacheWrite',
  input_cache_write_1h: 'inputCacheWrite1h',
  audio: 'audio',
  input_audio_cache: 'inputAudioCache',
  image_token: 'imageToken',
  audio_output: 'audioOutput',
  internal_reasoning: 'internalReasoning',
  request: 'request',
  image: 'image',
  image_output: 'imageOutput',
  web_search: 'webSearch',
  audio_second: 'audioSecond',
  video: 'video',
  video_second: 'videoSecond',
};
const RESOLUTION_MEMBER = /^video_second_([a-z0-9]{1,16})$/;

/** Web searches cost the same in a batch as outside. */
const FULL_PRICE_MEMBER = 'web_search';

/** What an API must have a price for: all members of one of the lists. A thing given away is priced `"0"`. */
const REQUIRED_PRICES: Readonly<Record<Api, readonly (readonly string[])[]>> = {
  chat: [['prompt', 'completion'], ['request']],
  responses: [['prompt', 'completion'], ['request']],
  messages: [['prompt', 'completion'], ['request']],
  embeddings: [['prompt'], ['request']],
  transcription: [['audio_second'], ['prompt'], ['request']],
  video: [['video'], ['video_second'], ['video_second_*'], ['completion'], ['request']],
};

/** Rates under the names of the file. */
type NamedRates = ReadonlyMap<string, Rate>;

export interface EndpointPrices {
  readonly pricing: PriceList;
  readonly batchPricing: PriceList;
  readonly listedPricing: Readonly<Record<string, string>>;
  readonly listedBatchPricing: Readonly<Record<string, string>>;
}

/**
 * Reads `pricing` and `batch_pricing` of an endpoint. Without `batch_pricing` a batch costs half where the
 * provider has a batch API (half a rate is rounded half up at 10^-18 USD) and the same elsewhere.
 */
export function readPrices(endpoint: Mapping, apis: readonly Api[], batch: BatchSupport): EndpointPrices {
  const place = endpoint.member('pricing');
  const rates = readRates(place);
  if (!place.absent) requirePrices(place, rates, apis);
  const batchPlace = endpoint.member('batch_pricing');
  const batchRates = batchPlace.absent ? defaultBatchRates(rates, batch) : readBatchRates(batchPlace, rates, apis);
  return {
    pricing: toPriceList(rates),
    batchPricing: toPriceList(batchRates),
    listedPricing: toListing(rates),
    listedBatchPricing: toListing(batchRates),
  };
}

function readRates(place: Located): NamedRates {
  const rates = new Map<string, Rate>();
  const mapping = place.mapping('any');
  for (const key of mapping?.keys() ?? []) {
    const member = mapping!.member(key);
    if (!Object.hasOwn(PRICE_MEMBERS, key) && !RESOLUTION_MEMBER.test(key)) member.report('is not a known price');
    else readRate(member, (rate) => rates.set(key, rate));
  }
  return rates;
}

function readRate(member: Located, accept: (rate: Rate) => void): void {
  const { value } = member;
  if (typeof value !== 'string') {
    member.report('must be a decimal string in quotes, such as "0.00000015"');
    return;
  }
  if (value.startsWith('-')) {
    member.report('must not be negative');
    return;
  }
  try {
    accept(parseRate(value));
  } catch {
    member.report('must be a plain decimal number of US dollars with at most 18 decimals');
  }
}

function readBatchRates(place: Located, rates: NamedRates, apis: readonly Api[]): NamedRates {
  const batchRates = new Map(readRates(place));
  requirePrices(place, batchRates, apis);
  const search = rates.get(FULL_PRICE_MEMBER);
  if (search !== undefined && !batchRates.has(FULL_PRICE_MEMBER)) batchRates.set(FULL_PRICE_MEMBER, search);
  return batchRates;
}

function defaultBatchRates(rates: NamedRates, batch: BatchSupport): NamedRates {
  if (batch !== 'native') return rates;
  return new Map([...rates].map(([key, rate]) => [key, key === FULL_PRICE_MEMBER ? rate : (rate + 1n) / 2n]));
}

function requirePrices(place: Located, rates: NamedRates, apis: readonly Api[]): void {
  const has = (member: string) =>
    member === 'video_second_*' ? [...rates.keys()].some((key) => RESOLUTION_MEMBER.test(key)) : rates.has(member);
  for (const api of apis) {
    if (REQUIRED_PRICES[api].some((members) => members.every(has))) continue;
    const choices = REQUIRED_PRICES[api].map((members) => members.join(' with '));
    place.report(`has no price for ${api}: needs ${choices.join(', or ')}`);
  }
}

function toPriceList(rates: NamedRates): PriceList {
  const list: { -readonly [Name in PlainPrice]?: Rate } = {};
  const byResolution: Record<string, Rate> = {};
  for (const [key, rate] of rates) {
    const resolution = RESOLUTION_MEMBER.exec(key)?.[1];
    if (resolution !== undefined) byResolution[resolution] = rate;
    else list[PRICE_MEMBERS[key]!] = rate;
  }
  return {
    ...list,
    prompt: list.prompt ?? 0n,
    completion: list.completion ?? 0n,
    ...(Object.keys(byResolution).length > 0 && { videoSecondByResolution: byResolution }),
  };
}

function toListing(rates: NamedRates): Record<string, string> {
  return Object.fromEntries([...rates].map(([key, rate]) => [key, formatRate(rate)]));
}
