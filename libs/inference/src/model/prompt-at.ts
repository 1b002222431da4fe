import type { Endpoint } from '../catalogue/catalogue-entries';
import type { PromptEstimate } from './json-shape';
import { pictureFamilyOf } from './picture-tokens';

export type CountedPrompt = Pick<PromptEstimate, 'tokens' | 'kinds'>;

/** Returns a prompt as the models of an endpoint count it. Each model family counts pictures differently. */
export function promptAt({ upstreamModel }: Pick<Endpoint, 'upstreamModel'>, prompt: CountedPrompt): CountedPrompt {
  const { tokens, kinds } = prompt;
  const imageTokens = kinds?.imageTokensBy?.[pictureFamilyOf(upstreamModel)];
  if (!kinds || imageTokens === undefined) return prompt;
  const others = Math.max(0, tokens - kinds.imageTokens);
  return { tokens: others + imageTokens, kinds: { ...kinds, imageTokens } };
}
