import type { ReasoningFormat } from '../../model/conversation';
import type { Endpoint } from '../../catalogue/catalogue';

/** Format of encrypted thoughts by provider, for providers that only decrypt their own. All others share one format. */
const FORMATS: readonly (readonly [RegExp, ReasoningFormat])[] = [
  [/^azure/, 'azure-openai-responses-v1'],
  [/^(?:xai|x-ai)/, 'xai-responses-v1'],
  [/^meta/, 'meta-responses-v1'],
];

/** Returns whether a provider of this API wrote thoughts in this format. */
export function isResponsesFormat(format: ReasoningFormat): boolean {
  return format.endsWith('-responses-v1');
}

/** Returns the format of the thoughts that an endpoint sends and accepts back on this API. */
export function reasoningFormatOf({ provider, upstreamModel }: Endpoint): ReasoningFormat {
  if (/bedrock/.test(provider.slug)) {
    return /xai|grok/.test(upstreamModel) ? 'bedrock-xai-responses-v1' : 'bedrock-openai-responses-v1';
  }
  return FORMATS.find(([pattern]) => pattern.test(provider.slug))?.[1] ?? 'openai-responses-v1';
}
