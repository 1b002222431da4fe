import { parseJson } from '@libs/json';
import { providerToolsIn } from '../model/provider-tools';
import type { ProviderTool } from '../pricing/tool-uses';
import type { AnswerContext } from './dialect';

/**
 * Returns the provider tools that an answer's request asks for, wherever it names them. Answers ask here alone: the
 * body of a long request may be shortened, and then names some of them no more.
 */
export function askedTools({ providerTools, requestBody }: AnswerContext): readonly ProviderTool[] {
  return providerTools ?? providerToolsIn(parseJson(requestBody));
}
