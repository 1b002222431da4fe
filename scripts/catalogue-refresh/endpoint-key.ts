type Entry = Readonly<Record<string, unknown>>;

/**
 * Returns what identifies an endpoint of a catalogue: the model's slug, provider, upstream model and APIs, and its
 * region, quantization, service tier and variant unless they are the defaults.
 *
 * So an endpoint that an operator adds for a tier or a region has another key than the shipped one.
 */
export function endpointKey(slug: unknown, endpoint: Entry): string {
  const { provider, upstream_model: model, apis, region, quantization } = endpoint;
  const { service_tier: tier, variant } = objectOf(endpoint['capabilities']);
  const names = Array.isArray(apis) ? (apis as unknown[]).map(String).toSorted() : [];
  return [
    ...[slug, provider, model].map(String),
    names.join(','),
    ...named('region', region, 'global'),
    ...named('quantization', quantization, 'unknown'),
    ...named('service_tier', tier, 'standard'),
    ...named('variant', variant, undefined),
  ].join(' ');
}

function named(trait: string, value: unknown, usual: string | undefined): string[] {
  return typeof value !== 'string' || value === usual ? [] : [`${trait}=${value}`];
}

function objectOf(value: unknown): Entry {
  return typeof value === 'object' && value !== null ? (value as Entry) : {};
}
