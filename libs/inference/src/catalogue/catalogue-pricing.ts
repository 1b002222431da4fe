import { formatRate, type Rate } from '../pricing/money';
import type { PriceList, PriceOverride } from '../pricing/price';
import type { Located, Mapping } from './catalogue-document';
import type { Api, BatchSupport, Provider } from './catalogue-entries';
import { listOverrides, mapOverrides, readOverrides } from './catalogue-overrides';
import { readRate } from './catalogue-rates';
import type { ListedPrices } from './listed-prices';

type PlainPrice = Exclude<keyof PriceList, 'videoSecondByResolution' | 'tools' | 'audioOptions' | 'overrides'>;

/** The rates of `pricing` in a file, with our names for them. `video_second_<resolution>` is handled separately. */
const PRICE_MEMBERS: Readonly<Record<string, PlainPrice>> = {
  prompt: 'prompt',
  completion: 'completion',
  input_cache_read: 'inputCacheRead',
  input_cache_write: 'inputCacheWrite',
  input_cache_write_1h: 'inputCacheWrite1h',
  audio: 'audio',
  input_audio_cache: 'inputAudioCache',
  image_token: 'imageToken',
  video_token: 'videoToken',
  audio_output: 'audioOutput',
  image_output_token: 'imageOutputToken',
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

/** The price field that is not halved in a batch: web searches cost the same there. */
const FULL_PRICE_MEMBER = 'web_search';

/** The prices that each API requires: all fields of one of the lists. Something free needs the price `"0"`. */
const REQUIRED_PRICES: Readonly<Record<Api, readonly (readonly string[])[]>> = {
  chat: [['prompt', 'completion'], ['request']],
  responses: [['prompt', 'completion'], ['request']],
  messages: [['prompt', 'completion'], ['request']],
  embeddings: [['prompt'], ['request']],
  transcription: [['audio_second'], ['prompt'], ['request']],
  video: [['video'], ['video_second'], ['video_second_*'], ['completion'], ['request']],
};

const OVERRIDES_MEMBER = 'overrides';
const NAME = /^[a-z][a-z_]{0,63}$/;

/** Rates under the names of the file. */
type NamedRates = ReadonlyMap<string, Rate>;

/** `pricing` or `batch_pricing` of a file. */
interface Prices {
  readonly rates: NamedRates;
  readonly overrides: readonly PriceOverride[];
}

export interface EndpointPrices {
  readonly pricing: PriceList;
  readonly batchPricing: PriceList;
  readonly listedPricing: ListedPrices;
  readonly listedBatchPricing: ListedPrices;
}

/**
 * Reads `pricing` and `batch_pricing` of an endpoint. Without `batch_pricing`, a batch costs half if the provider has a
 * batch API (half a rate is rounded half up at 10^-18 USD), and the full price otherwise. Batch APIs charge the same at
 * every hour. Tools cost the same in a batch. Options of transcriptions are in `option_pricing`.
 */
export function readPrices(endpoint: Mapping, apis: readonly Api[], provider: BatchTerms): EndpointPrices {
  const { batch } = provider;
  const place = endpoint.member('pricing');
  const tools = readNamedRates(endpoint.member('tool_pricing'), 'a tool in lower case, such as file_search');
  const options = readNamedRates(endpoint.member('option_pricing'), 'an option in lower case, such as keyterms');
  const prices = withSearch(readList(place, apis), tools, place);
  if (!place.absent) requirePrices(place, prices.rates, apis);
  const batchPlace = endpoint.member('batch_pricing');
  const batchPrices = batchPlace.absent
    ? defaultBatchPrices(prices, provider)
    : readBatchPrices(batchPlace, prices, { apis, batch });
  return {
    pricing: withOptions(toPriceList(prices, tools), options),
    batchPricing: withOptions(toPriceList(batchPrices, tools), options),
    listedPricing: toListing(prices),
    listedBatchPricing: toListing(batchPrices),
  };
}

function readList(place: Located, apis: readonly Api[]): Prices {
  const mapping = place.mapping('any');
  return { rates: readRates(mapping), overrides: readOverrides(mapping, apis) };
}

function readRates(mapping: Mapping | null): NamedRates {
  const rates = new Map<string, Rate>();
  for (const key of mapping?.keys() ?? []) {
    if (key === OVERRIDES_MEMBER) continue;
    const member = mapping!.member(key);
    if (!Object.hasOwn(PRICE_MEMBERS, key) && !RESOLUTION_MEMBER.test(key)) member.report('is not a known price');
    else readRate(member, (rate) => rates.set(key, rate));
  }
  return rates;
}

function readNamedRates(place: Located, what: string): NamedRates {
  const mapping = place.optionalMapping('any');
  const rates = new Map<string, Rate>();
  for (const key of mapping?.keys() ?? []) {
    const member = mapping!.member(key);
    if (NAME.test(key)) readRate(member, (rate) => rates.set(key, rate));
    else member.report(`must be the name of ${what}`);
  }
  return rates;
}

/** Adds the price of web searches, which may be listed among the tools. */
function withSearch({ rates, overrides }: Prices, tools: NamedRates, place: Located): Prices {
  const search = tools.get(FULL_PRICE_MEMBER);
  if (search === undefined) return { rates, overrides };
  const other = rates.get(FULL_PRICE_MEMBER);
  if (other !== undefined && other !== search) place.report('has a price for web_search that tool_pricing contradicts');
  return { rates: new Map([...rates, [FULL_PRICE_MEMBER, search]]), overrides };
}

function readBatchPrices(
  place: Located,
  prices: Prices,
  { apis, batch }: { readonly apis: readonly Api[]; readonly batch: BatchSupport },
): Prices {
  const { rates, overrides } = readList(place, apis);
  requirePrices(place, rates, apis);
  if (batch === 'native' && overrides.some(({ utcStart }) => utcStart !== undefined)) {
    place.report('cannot change by the hour: the provider decides when a request of its batch begins');
  }
  const search = prices.rates.get(FULL_PRICE_MEMBER);
  if (search === undefined || rates.has(FULL_PRICE_MEMBER)) return { rates, overrides };
  return { rates: new Map([...rates, [FULL_PRICE_MEMBER, search]]), overrides };
}

type BatchTerms = Pick<Provider, 'batch' | 'batchCacheReads'>;

/** Rates of tokens that a cache held. */
const CACHE_READS = new Set<string>(['inputCacheRead', 'inputAudioCache']);

function defaultBatchPrices({ rates, overrides }: Prices, { batch, batchCacheReads = 'half' }: BatchTerms): Prices {
  if (batch !== 'native') return { rates, overrides };
  const inBatch = (name: string, rate: Rate): Rate | null => {
    if (name === PRICE_MEMBERS[FULL_PRICE_MEMBER]) return rate;
    if (!CACHE_READS.has(name) || batchCacheReads === 'half') return half(rate);
    return batchCacheReads === 'full' ? rate : null;
  };
  const ofAllHours = overrides.filter(({ utcStart }) => utcStart === undefined);
  return {
    rates: new Map([...rates].flatMap(([key, rate]) => entryOf(key, inBatch(PRICE_MEMBERS[key] ?? key, rate)))),
    overrides: mapOverrides(ofAllHours, inBatch),
  };
}

function entryOf(key: string, rate: Rate | null): readonly (readonly [string, Rate])[] {
  return rate === null ? [] : [[key, rate]];
}

function half(rate: Rate): Rate {
  return (rate + 1n) / 2n;
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

function toPriceList({ rates, overrides }: Prices, tools: NamedRates): PriceList {
  const others = [...tools].filter(([tool]) => tool !== FULL_PRICE_MEMBER);
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
    ...(others.length > 0 && { tools: Object.fromEntries(others) }),
    ...(overrides.length > 0 && { overrides }),
  };
}

function withOptions(prices: PriceList, options: NamedRates): PriceList {
  return options.size === 0 ? prices : { ...prices, audioOptions: Object.fromEntries(options) };
}

function toListing({ rates, overrides }: Prices): ListedPrices {
  const listed = Object.fromEntries([...rates].map(([key, rate]) => [key, formatRate(rate)]));
  return overrides.length === 0 ? listed : { ...listed, overrides: listOverrides(overrides) };
}
