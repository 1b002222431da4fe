import { BATCH_SUFFIX, type Catalogue, type Endpoint, type Model } from '../catalogue/catalogue';
import type { SortKey } from './route-request';
import { traitsOf } from '../catalogue/endpoint-traits';
import { repeatable, theModel, unknownModelMessage } from './unknown-model';

/** How a name led to a model. */
export type NamedBy = 'direct' | 'alias' | 'latest';

/** The model with a name, and what the suffixes of the name ask for. */
export interface ResolvedModel {
  readonly model: Model;
  readonly namedBy: NamedBy;
  readonly sort: SortKey | null;
  /** Only endpoints of this variant may serve; null: only endpoints without a variant. */
  readonly variant: string | null;
  /** Tier that the suffix admits: `:nitro` priority endpoints, `:floor` flex endpoints. */
  readonly admits: 'priority' | 'flex' | null;
  /** True for `:online`, which asks for the plugin `web`; it does not affect the choice of endpoints. */
  readonly isOnline: boolean;
}

export interface UnresolvedModel {
  readonly model: null;
  readonly error: 'invalid_request' | 'not_found';
  readonly code: 'model_not_found' | 'wrong_endpoint' | 'free_variant_ended';
  /** Makes the error message; called only when needed, because it searches for similar names. */
  readonly messageFor: (name: string, catalogue: Catalogue) => string;
}

interface SortSuffix {
  readonly sort: SortKey;
  readonly admits: 'priority' | 'flex' | null;
}

const SORT_SUFFIXES: Readonly<Record<string, SortSuffix>> = {
  nitro: { sort: 'throughput', admits: 'priority' },
  floor: { sort: 'price', admits: 'flex' },
  exacto: { sort: 'exacto', admits: null },
};
const VARIANTS: readonly string[] = ['free', 'extended', 'thinking'];
const NO_SUFFIX: Omit<ResolvedModel, 'model' | 'namedBy'> = {
  sort: null,
  variant: null,
  admits: null,
  isOnline: false,
};
/** A name with more suffixes than this is treated as unknown. */
const MOST_SUFFIXES = 4;

const UNKNOWN = unresolved('model_not_found', unknownModelMessage);
const NO_VARIANT = unresolved('model_not_found', (name) => `${theModel(name)} does not exist in this variant`);
const NOT_FREE = unresolved('free_variant_ended', (name) => `${theModel(name)} has no free endpoint`, 'not_found');
const BATCH_ONLY = unresolved('wrong_endpoint', () => 'The variant :batch can only be used in batches');

/**
 * Finds the model with a slug or alias. A model with the whole name has precedence. Otherwise suffixes are removed from
 * the right: a sorting suffix, a variant that some endpoint of the model serves, or `:online`. `~vendor/name-latest` is
 * the newest release of that name.
 */
export function resolveModel(name: string, catalogue: Catalogue): ResolvedModel | UnresolvedModel {
  if (name.endsWith(BATCH_SUFFIX)) return BATCH_ONLY;
  let slug = name;
  let wish = NO_SUFFIX;
  for (let count = 0; count <= MOST_SUFFIXES; count += 1) {
    const found = findBySlug(slug, catalogue);
    if (found !== null) return wish === NO_SUFFIX ? found : withVariant({ ...found, ...wish });
    const colon = slug.lastIndexOf(':');
    const suffix = colon === -1 ? '' : slug.slice(colon + 1);
    const next = withSuffix(wish, suffix);
    if (next === null) return UNKNOWN;
    wish = next;
    slug = slug.slice(0, colon);
  }
  return UNKNOWN;
}

/** Returns a name in the form to record: the slug in place of an alias, and nothing that may be a key. */
export function recordedName(name: string, catalogue: Catalogue): string {
  const resolved = resolveModel(name, catalogue);
  if (resolved.model === null) return repeatable(name);
  return resolved.namedBy === 'alias' ? resolved.model.slug : name;
}

/** Returns the endpoints of a model name, for any API; empty for an unknown name. */
export function endpointsNamed(name: string, catalogue: Catalogue): readonly Endpoint[] {
  const resolved = resolveModel(name, catalogue);
  if (resolved.model === null) return [];
  const { model, variant } = resolved;
  return model.endpoints.filter((endpoint) => isOfVariant(model, endpoint, variant));
}

/**
 * Returns whether an endpoint belongs to the requested variant. An endpoint without costs belongs to `free` even if it
 * does not say so. A model with the variant in its own slug needs no such check.
 */
export function isOfVariant(model: Model, endpoint: Endpoint, wanted: string | null): boolean {
  const { variant } = traitsOf(endpoint);
  if (variant === wanted) return true;
  return variant === null ? wanted === 'free' && isFree(endpoint) : model.slug.endsWith(`:${variant}`);
}

function withSuffix(wish: typeof NO_SUFFIX, suffix: string): typeof NO_SUFFIX | null {
  if (Object.hasOwn(SORT_SUFFIXES, suffix)) {
    const { sort, admits } = SORT_SUFFIXES[suffix]!;
    return wish.sort === null ? { ...wish, sort, admits } : null;
  }
  if (suffix === 'online') return wish.isOnline ? null : { ...wish, isOnline: true };
  return VARIANTS.includes(suffix) && wish.variant === null ? { ...wish, variant: suffix } : null;
}

function withVariant(resolved: ResolvedModel): ResolvedModel | UnresolvedModel {
  const { model, variant } = resolved;
  if (variant === null || model.endpoints.some((endpoint) => isOfVariant(model, endpoint, variant))) return resolved;
  return variant === 'free' ? NOT_FREE : NO_VARIANT;
}

function findBySlug(slug: string, catalogue: Catalogue): ResolvedModel | null {
  const model = slug.endsWith(BATCH_SUFFIX) ? null : catalogue.findModel(slug);
  if (model !== null) return { ...NO_SUFFIX, model, namedBy: model.slug === slug ? 'direct' : 'alias' };
  const latest = findLatest(slug, catalogue);
  return latest === null ? null : { ...NO_SUFFIX, model: latest, namedBy: 'latest' };
}

/** `created` of a model whose date is not known. */
export const UNDATED = 0;
const LATEST = /^~([^/]+)\/(.+)-latest$/;
/** Matches a version such as `5`, `4.5`, `v3`, `4o`, `2512`: the part of a name that changes between releases. */
const VERSION = /^v?\d+(\.\d+)*[a-z]?$/;

/**
 * Returns the newest model whose name without the version is the requested one: by date where both dates are known, else
 * by version.
 */
function findLatest(slug: string, catalogue: Catalogue): Model | null {
  const [, vendor, wanted] = LATEST.exec(slug) ?? [];
  if (vendor === undefined || wanted === undefined) return null;
  let latest: Model | null = null;
  for (const model of catalogue.models()) {
    if (model.slug.startsWith(`${vendor}/`) && unversioned(model.slug.slice(vendor.length + 1)) === wanted) {
      if (latest === null || isNewer(model, latest)) latest = model;
    }
  }
  return latest;
}

function unversioned(name: string): string {
  const parts = name.split('-');
  return parts.filter((part) => !VERSION.test(part)).join('-');
}

function isNewer(model: Model, than: Model): boolean {
  const areDated = model.created !== UNDATED && than.created !== UNDATED;
  if (areDated && model.created !== than.created) return model.created > than.created;
  return model.slug.localeCompare(than.slug, 'en', { numeric: true }) > 0;
}

function isFree({ pricing }: Endpoint): boolean {
  return Object.values(pricing).every((rate) =>
    typeof rate === 'object' ? Object.values(rate).every((one) => one === 0n) : rate === 0n,
  );
}

function unresolved(
  code: UnresolvedModel['code'],
  messageFor: UnresolvedModel['messageFor'],
  error: UnresolvedModel['error'] = 'invalid_request',
): UnresolvedModel {
  return { model: null, error, code, messageFor };
}
