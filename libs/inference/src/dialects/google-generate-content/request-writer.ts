import { defined } from '@libs/json';
import type { CanonicalRequest } from '../../model/canonical-request';
import type { LossLog } from '../../model/loss-report';
import type { Endpoint } from '../../catalogue/catalogue';
import { writeConversation } from './conversation-writer';
import { writeGenerationConfig } from './settings-writer';
import { writeTools } from './tool-writer';

/** The upstream's tiers by our names. */
const TIERS: Readonly<Record<string, string>> = {
  default: 'standard',
  standard: 'standard',
  flex: 'flex',
  priority: 'priority',
};

/** Returns the body of `generateContent`. The model and the choice to stream are part of the path. */
export function writeRequest(request: CanonicalRequest, endpoint: Endpoint, isStream: boolean, log: LossLog): object {
  logForeign(request, log);
  const { system, contents } = writeConversation(request.messages, endpoint, log);
  return defined({
    systemInstruction: system.length === 0 ? undefined : { parts: system },
    contents,
    ...writeTools(request, log),
    generationConfig: writeGenerationConfig(request, endpoint, isStream, log),
    serviceTier: writeServiceTier(request.serviceTier, endpoint, log),
  });
}

/** Logs fields that this API does not have. */
function logForeign(request: CanonicalRequest, log: LossLog): void {
  const { verbosity, cache, promptCacheKey, metadata, endUser } = request;
  if (verbosity !== undefined) log.drop('verbosity');
  if (cache !== undefined) log.drop('cache_control');
  if (promptCacheKey !== undefined) log.drop('prompt_cache_key');
  if (metadata !== undefined && Object.keys(metadata).length > 0) log.drop('metadata');
  if (endUser !== undefined) log.drop('user');
}

/** Writes the tier; undefined for Vertex AI, which refuses the field: its adapter sends a header. */
function writeServiceTier(tier: string | undefined, { provider }: Endpoint, log: LossLog): string | undefined {
  if (tier === undefined || tier === 'auto') return undefined;
  const known = Object.hasOwn(TIERS, tier) ? TIERS[tier] : undefined;
  if (known === undefined) log.drop('service_tier');
  return provider.protocol === 'google' ? known : undefined;
}
