import type { Api, Endpoint } from '../catalogue/catalogue-entries';
import { PICTURE_TOKENS } from '../model/expected-output';
import type { Rate } from '../pricing/money';
import type { PriceList } from '../pricing/price';
import { highestPricesFor } from '../pricing/price-overrides';

type Rates = (prices: PriceList) => readonly (readonly [Rate | undefined, bigint])[];

/** Usage of a typical request of each API, to compare prices of different kinds. */
const TYPICAL_REQUEST: Readonly<Record<Api, Rates>> = {
  chat: textRates,
  responses: textRates,
  messages: textRates,
  embeddings: ({ prompt }) => [[prompt, 1_000n]],
  transcription: ({ prompt, audioSecond }) => [
    [prompt, 1_000n],
    [audioSecond, 60n],
  ],
  video: ({ completion, video, videoSecond, videoSecondByResolution }) => [
    [completion, 100_000n],
    [video, 1n],
    [videoSecond ?? cheapest(Object.values(videoSecondByResolution ?? {})), 8n],
  ],
};

function textRates({ prompt, completion }: PriceList): readonly (readonly [Rate, bigint])[] {
  return [
    [prompt, 1_000n],
    [completion, 1_000n],
  ];
}

function cheapest(rates: readonly Rate[]): Rate {
  return rates.reduce((least, rate) => (rate < least ? rate : least), rates[0] ?? 0n);
}

/** Rates for a picture of up to 1,024 pixels a side, without the text of the answer. */
const pictureRates: Rates = ({ completion, imageOutputToken, imageOutput }) => [
  [imageOutputToken ?? completion, BigInt(PICTURE_TOKENS)],
  [imageOutput, 1n],
];

type PriceMemo = Map<Api, number>;
const typicalPrices = new WeakMap<Endpoint, PriceMemo>();
const typicalPicturePrices = new WeakMap<Endpoint, PriceMemo>();

/**
 * Returns the price of a typical request. Exact enough for an order and for weights, never for a bill.
 * @param promptTokens of the request, for which other rates may apply
 * @param paints true if the request asks for pictures
 */
export function typicalPrice(endpoint: Endpoint, api: Api, promptTokens: number, paints = false): number {
  if (endpoint.pricing.overrides === undefined) return baseTypicalPrice(endpoint, api, paints);
  return sumOf(highestPricesFor(endpoint.pricing, promptTokens), api, paints);
}

function baseTypicalPrice(endpoint: Endpoint, api: Api, paints: boolean): number {
  const memo = paints ? typicalPicturePrices : typicalPrices;
  let prices = memo.get(endpoint);
  if (prices === undefined) memo.set(endpoint, (prices = new Map()));
  let price = prices.get(api);
  if (price === undefined) {
    prices.set(api, (price = sumOf(endpoint.pricing, api, paints)));
  }
  return price;
}

function sumOf(prices: PriceList, api: Api, paints: boolean): number {
  const rates = [...TYPICAL_REQUEST[api](prices), ...(paints ? pictureRates(prices) : [])];
  return Number(rates.reduce((total, [rate = 0n, units]) => total + rate * units, prices.request ?? 0n));
}
