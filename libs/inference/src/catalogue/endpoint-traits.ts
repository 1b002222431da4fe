import type { Endpoint } from './catalogue-entries';
import { tierNamed, type EndpointTier } from './service-tiers';

/**
 * Properties of an endpoint that routing derives from its `capabilities`: `service_tier` (priority, fast, flex,
 * ultrafast; if absent, the last part of the provider's slug), `variant` (the endpoint serves only requests for
 * `<model>:<variant>`), `distillable_text` (true if outputs may be used to train other models) and `tool_call_quality`
 * (a number; higher is better).
 */
export interface EndpointTraits {
  /** Identifies the endpoint, across reloads of the catalogue. */
  readonly key: string;
  readonly tier: EndpointTier;
  /** Equal for endpoints that differ only in their tier. */
  readonly tierlessKey: string;
  readonly variant: string | null;
  /** Slugs with a suffix that name only this endpoint of the provider, in lower case. */
  readonly suffixedSlugs: readonly string[];
  readonly providerName: string;
  readonly isDistillable: boolean;
  readonly toolCallQuality: number | null;
}

/** Results by endpoint. Endpoints never change, so each is computed once. */
const known = new WeakMap<Endpoint, EndpointTraits>();

export function traitsOf(endpoint: Endpoint): EndpointTraits {
  let traits = known.get(endpoint);
  if (traits === undefined) known.set(endpoint, (traits = readTraits(endpoint)));
  return traits;
}

function readTraits(endpoint: Endpoint): EndpointTraits {
  const { capabilities } = endpoint;
  const quality = ownMember(capabilities, 'tool_call_quality');
  const variant = ownMember(capabilities, 'variant');
  const tier = tierOf(endpoint);
  const tierlessKey = tierlessKeyOf(endpoint, variant);
  const traits = {
    key: tier === 'standard' ? tierlessKey : `${tierlessKey} ${tier}`,
    tier,
    tierlessKey,
    variant: typeof variant === 'string' ? variant : null,
    providerName: endpoint.provider.name.toLowerCase(),
    isDistillable: ownMember(capabilities, 'distillable_text') === true,
    toolCallQuality: typeof quality === 'number' && Number.isFinite(quality) ? quality : null,
  };
  return { ...traits, suffixedSlugs: suffixedSlugsOf(endpoint, traits) };
}

function tierOf({ provider: { slug }, capabilities }: Endpoint): EndpointTier {
  const declared = ownMember(capabilities, 'service_tier');
  if (typeof declared === 'string') return tierNamed(declared) ?? 'standard';
  return tierNamed(suffixOf(slug)) ?? 'standard';
}

/** Returns the part of a provider's slug after the last slash; empty if there is no slash. */
function suffixOf(slug: string): string {
  return slug.includes('/') ? slug.slice(slug.lastIndexOf('/') + 1) : '';
}

function tierlessKeyOf({ provider, region, upstreamModel, quantization }: Endpoint, variant: unknown): string {
  const suffix = suffixOf(provider.slug);
  const slug = tierNamed(suffix) === null ? provider.slug : provider.slug.slice(0, -suffix.length - 1);
  const key = `${slug} ${region} ${upstreamModel} ${quantization}`;
  return typeof variant === 'string' ? `${key} ${variant}` : key;
}

function suffixedSlugsOf(
  { provider, region, quantization }: Endpoint,
  { tier, variant }: Pick<EndpointTraits, 'tier' | 'variant'>,
): readonly string[] {
  const suffixes = tier === 'standard' ? [region, quantization, variant] : [tier];
  const slugs = suffixes.filter((suffix) => suffix !== null).map((suffix) => `${provider.slug}/${suffix}`);
  return [...(provider.slug.includes('/') ? [provider.slug] : []), ...slugs].map((slug) => slug.toLowerCase());
}

/** Parameters that have two names. An endpoint that lists one of the names supports the parameter. */
const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  max_tokens: ['max_tokens', 'max_completion_tokens'],
  reasoning: ['reasoning', 'reasoning_effort'],
};

export function supportsParameter({ supportedParameters }: Endpoint, parameter: string): boolean {
  const names = SYNONYMS[parameter] ?? [parameter];
  return names.some((name) => supportedParameters.includes(name));
}

/** Returns whether an endpoint belongs to the tier that serves requests without a tier. */
export function isStandardTier(endpoint: Endpoint): boolean {
  return traitsOf(endpoint).tier === 'standard';
}

function ownMember(record: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
