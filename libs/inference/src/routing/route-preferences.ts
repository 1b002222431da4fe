import type { PercentileCutoffs, PriceLimit, ProviderPreferences } from '@libs/contracts';
import { parseRate, type Rate } from '../pricing/money';
import type { Cutoffs, MaxPrice, RoutingPreferences, SortKey } from './route-request';

/**
 * Reads the `provider` object of a validated request into routing preferences. `route` is the older name of
 * `sort.partition`: `sort` means none, `fallback` means model. `provider.sort` has precedence.
 */
export function readRoutingPreferences(
  provider: ProviderPreferences | null | undefined,
  route?: 'fallback' | 'sort' | null,
): RoutingPreferences {
  const wish = provider ?? {};
  const { sort, max_price: maxPrice } = wish;
  const { by, partition } = typeof sort === 'object' && sort !== null ? sort : { by: sort, partition: null };
  return {
    order: wish.order,
    only: wish.only,
    ignore: wish.ignore,
    allowFallbacks: wish.allow_fallbacks,
    requireParameters: wish.require_parameters,
    dataCollection: wish.data_collection,
    zdr: wish.zdr,
    enforceDistillableText: wish.enforce_distillable_text,
    quantizations: wish.quantizations,
    sort: (by ?? null) as SortKey | null,
    partition: partitionOf(partition) ?? (route === 'sort' ? 'none' : null),
    maxPrice: maxPrice ? readMaxPrice(maxPrice) : null,
    preferredMinThroughput: readCutoffs(wish.preferred_min_throughput),
    preferredMaxLatency: readCutoffs(wish.preferred_max_latency),
    options: wish.options,
  };
}

function partitionOf(partition: string | null | undefined): 'model' | 'none' | null {
  return partition === 'none' || partition === 'model' ? partition : null;
}

function readMaxPrice({
  prompt,
  completion,
  audio,
  image,
  request,
}: NonNullable<ProviderPreferences['max_price']>): MaxPrice {
  return {
    promptPerMillion: readLimit(prompt),
    completionPerMillion: readLimit(completion),
    audioPerMillion: readLimit(audio),
    image: readLimit(image),
    request: readLimit(request),
  };
}

function readLimit(limit: PriceLimit | null | undefined): Rate | undefined {
  if (limit === null || limit === undefined) return undefined;
  return parseRate(typeof limit === 'number' ? decimalOf(limit) : limit);
}

/** Decimals of a rate; a value with more decimals is not a price. */
const MOST_DECIMALS = 18;

/** Returns the shortest decimal string of a number, without an exponent. */
function decimalOf(value: number): string {
  const [mantissa = '0', exponent = '0'] = value.toExponential().split('e');
  const digits = mantissa.replace('.', '');
  const point = Number(exponent) + 1;
  const whole = point > 0 ? digits.slice(0, point).padEnd(point, '0') : '0';
  const fraction = point > 0 ? digits.slice(point) : '0'.repeat(-point) + digits;
  const cut = fraction.slice(0, MOST_DECIMALS);
  return cut === '' ? whole : `${whole}.${cut}`;
}

function readCutoffs(wish: number | PercentileCutoffs | null | undefined): Cutoffs | null {
  if (wish === null || wish === undefined) return null;
  if (typeof wish === 'number') return { p50: wish };
  return Object.fromEntries(Object.entries(wish).filter(([, value]) => typeof value === 'number')) as Cutoffs;
}
