import { parseJson } from '@libs/json';
import { providerToolsIn } from '../model/provider-tools';
import type { ProviderTool } from '../pricing/tool-uses';
import type { AnswerContext } from './dialect';

/**
 * Returns the provider tools that the request of an answer asks for. Code that writes answers must use this function:
 * the body of a long request may have been shortened and may no longer contain all of its tools.
 */
export function askedTools({ providerTools, requestBody }: AnswerContext): readonly ProviderTool[] {
  return providerTools ?? providerToolsIn(parseJson(requestBody));
}
