import type { Provider } from '../catalogue/catalogue';

/**
 * Hosts that a caller's key may name, by protocol. The key is sent to no other host, whatever its document names. A
 * star matches a part of one label. The operator adds hosts with `own_key_hosts` in the catalogue.
 */
const HOSTS: Readonly<Record<string, readonly string[]>> = {
  azure: [
    '*.openai.azure.com',
    '*.services.ai.azure.com',
    '*.cognitiveservices.azure.com',
    '*.openai.azure.us',
    '*.services.ai.azure.us',
    '*.cognitiveservices.azure.us',
  ],
  'azure-speech': [
    '*.cognitiveservices.azure.com',
    '*.cognitiveservices.azure.us',
    '*.cognitiveservices.azure.cn',
    '*.services.ai.azure.com',
  ],
  bedrock: [
    'bedrock-runtime.*.amazonaws.com',
    'bedrock-runtime-fips.*.amazonaws.com',
    'bedrock-runtime.*.amazonaws.com.cn',
    'bedrock-runtime.*.amazonaws.eu',
  ],
  'google-vertex': ['aiplatform.googleapis.com', '*-aiplatform.googleapis.com', 'aiplatform.*.rep.googleapis.com'],
};

type Named = Pick<Provider, 'protocol' | 'ownKeyHosts'>;

/** Returns the patterns of the hosts that a caller's key may name at a provider. */
export function ownKeyHostsOf({ protocol, ownKeyHosts = [] }: Named): readonly string[] {
  return [...(HOSTS[protocol] ?? []), ...ownKeyHosts];
}

/**
 * Returns whether a caller's key may be sent to a host. The host is in lower case and includes its port if it has one.
 */
export function isOwnKeyHost(provider: Named, host: string): boolean {
  return ownKeyHostsOf(provider).some((pattern) => expressionOf(pattern).test(host));
}

/** Not limited in size: patterns come only from the catalogue, so there are few. */
const expressions = new Map<string, RegExp>();

function expressionOf(pattern: string): RegExp {
  let expression = expressions.get(pattern);
  if (expression === undefined) {
    const escaped = pattern.replaceAll('.', '\\.').replaceAll('*', '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?');
    expression = new RegExp(`^${escaped}$`);
    expressions.set(pattern, expression);
  }
  return expression;
}
