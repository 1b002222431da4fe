import type { Endpoint } from './catalogue-entries';
import { tierNamed, type EndpointTier } from './service-tiers';

/**
 * What routing derives from an endpoint, in addition to its plain fields. The catalogue says it in `capabilities`:
 * `service_tier` (priority, fast, flex, ultrafast; else the last part of the provider's slug counts),
 * `variant` (served under `<model>:<variant>` only), `distillable_text` (true where outputs may train other models) and
 * `tool_call_quality` (a number, more is better).
 */
export interface EndpointTraits {
  /** Identifies the endpoint, across reloads of the catalogue. */
  readonly key: string;
  readonly tier: EndpointTier;
  /** Equal for endpoints that differ in nothing but their tier. */
  readonly tierlessKey: string;
  readonly variant: string | null;
  /** Suffixed slugs that name this endpoint and no other of the provider, in lower case. */
  readonly suffixedSlugs: readonly string[];
  readonly providerName: string;
  readonly isDistillable: boolean;
  readonly toolCallQuality: number | null;
}

/** Endpoints never change, so each is looked into once. */
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

/** What follows the last slash of a provider's slug; empty without one. */
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

/** Parameters with two names: an endpoint that lists one of them supports the parameter. */
const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  max_tokens: ['max_tokens', 'max_completion_tokens'],
  reasoning: ['reasoning', 'reasoning_effort'],
};

export function supportsParameter({ supportedParameters }: Endpoint, parameter: string): boolean {
  const names = SYNONYMS[parameter] ?? [parameter];
  return names.some((name) => supportedParameters.includes(name));
}

/** Whether an endpoint is of the tier of requests that ask for none. */
export function isStandardTier(endpoint: Endpoint): boolean {
  return traitsOf(endpoint).tier === 'standard';
}

function ownMember(record: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
