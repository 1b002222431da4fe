import { findTextLinkProblem } from '../links/body-links';
import { findHostProblem } from '../links/host-text';
import { LinkBudget } from '../links/link-head';
import {
  findElementsProblem,
  findMembersProblem,
  isBoolean,
  oneOf,
  type MemberCheck,
} from '../validation/member-checks';
import { isNonEmptyString, isPlainObject } from '../validation/well-formed';

export const PROVIDER_SORTS = ['price', 'throughput', 'latency', 'exacto'] as const;
export type ProviderSort = (typeof PROVIDER_SORTS)[number];

const QUANTIZATIONS: readonly unknown[] = [
  'int4',
  'int8',
  'fp4',
  'mxfp4',
  'nvfp4',
  'fp6',
  'fp8',
  'mxfp8',
  'fp16',
  'bf16',
  'fp32',
  'unknown',
];
const MAX_SLUGS = 200;
const MAX_SLUG_LENGTH = 256;
const MAX_PRICE_USD = 1_000_000_000;
const PRICE = /^(0|[1-9]\d{0,8})(\.\d{1,18})?$/;

/** US dollars, per million tokens or per unit: a decimal string, or a number. */
export type PriceLimit = string | number;

/** Percentiles that must all be met. */
export interface PercentileCutoffs {
  readonly p50?: number | null;
  readonly p75?: number | null;
  readonly p90?: number | null;
  readonly p99?: number | null;
}

/** The `provider` object of inference requests: every field is optional and may be null. */
export interface ProviderPreferences {
  /** Slugs or display names of providers, like the next two. */
  readonly order?: readonly string[] | null;
  readonly only?: readonly string[] | null;
  readonly ignore?: readonly string[] | null;
  readonly allow_fallbacks?: boolean | null;
  readonly require_parameters?: boolean | null;
  readonly data_collection?: 'allow' | 'deny' | null;
  readonly zdr?: boolean | null;
  readonly enforce_distillable_text?: boolean | null;
  readonly quantizations?: readonly string[] | null;
  readonly sort?: string | { readonly by?: string | null; readonly partition?: string | null } | null;
  /** Price per million tokens; for images and requests, per piece. */
  readonly max_price?: {
    readonly prompt?: PriceLimit | null;
    readonly completion?: PriceLimit | null;
    readonly image?: PriceLimit | null;
    readonly audio?: PriceLimit | null;
    readonly request?: PriceLimit | null;
  } | null;
  /** Tokens per second; a number is the median. */
  readonly preferred_min_throughput?: number | PercentileCutoffs | null;
  /** Seconds; a number is the median. */
  readonly preferred_max_latency?: number | PercentileCutoffs | null;
  /** Members for one provider each, by slug. */
  readonly options?: Readonly<Record<string, Readonly<Record<string, unknown>>>> | null;
}

const isPrice: MemberCheck = (value) => {
  const fits =
    typeof value === 'number' ? value >= 0 && value <= MAX_PRICE_USD : typeof value === 'string' && PRICE.test(value);
  return fits ? null : ' must be a price in US dollars';
};
const isAmount: MemberCheck = (value) =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? null : ' must be a number of at least 0';
const isSort = oneOf(...PROVIDER_SORTS);

const SORT_MEMBERS = { by: isSort, partition: oneOf('model', 'none') };
const PRICES = { prompt: isPrice, completion: isPrice, image: isPrice, audio: isPrice, request: isPrice };
const PERCENTILES = { p50: isAmount, p75: isAmount, p90: isAmount, p99: isAmount };

const CHECKS: Readonly<Record<keyof ProviderPreferences, MemberCheck>> = {
  order: slugList,
  only: slugList,
  ignore: slugList,
  allow_fallbacks: isBoolean,
  require_parameters: isBoolean,
  zdr: isBoolean,
  enforce_distillable_text: isBoolean,
  data_collection: oneOf('allow', 'deny'),
  quantizations: (value) => findElementsProblem(value, 1, QUANTIZATIONS.length, oneOf(...QUANTIZATIONS)),
  sort: (value) => (isPlainObject(value) ? findMembersProblem(value, SORT_MEMBERS) : isSort(value)),
  max_price: (value) => findMembersProblem(value, PRICES),
  preferred_min_throughput: cutoffs,
  preferred_max_latency: cutoffs,
  options,
};

/** Checks the preferences; fields that are not listed here are not checked. */
export function findProviderPreferencesProblem(preferences: unknown): string | null {
  return findMembersProblem(preferences, CHECKS);
}

function slugList(value: unknown): string | null {
  const fits = Array.isArray(value) && value.length > 0 && value.length <= MAX_SLUGS && value.every(isSlug);
  return fits ? null : ` must be an array of 1 to ${MAX_SLUGS} provider slugs`;
}

function isSlug(value: unknown): boolean {
  return isNonEmptyString(value) && value.length <= MAX_SLUG_LENGTH;
}

function cutoffs(value: unknown): string | null {
  return isPlainObject(value) ? findMembersProblem(value, PERCENTILES) : isAmount(value);
}

function options(value: unknown): string | null {
  if (!isPlainObject(value) || Object.keys(value).length > MAX_SLUGS) {
    return ` must be an object of at most ${MAX_SLUGS} providers`;
  }
  if (!Object.values(value).every(isPlainObject)) return ' must hold an object for each provider';
  return findLinkIn('options', value, new LinkBudget());
}

/** Options are sent to providers unchanged, so links in them must follow the rule for all links. */
function findLinkIn(place: string, value: unknown, budget: LinkBudget): string | null {
  if (typeof value === 'string') return findHostProblem(place, value) ?? findTextLinkProblem(value, budget);
  if (typeof value !== 'object' || value === null) return null;
  const isList = Array.isArray(value);
  for (const [name, member] of Object.entries(value)) {
    const problem = findLinkIn(isList ? place : name, member, budget);
    if (problem !== null) return isList ? `[${name}]${problem}` : `.${name}${problem}`;
  }
  return null;
}
