import { parseJson } from '../../json/json-value';
import { providerToolsIn } from '../../model/provider-tools';
import type { AnswerContext } from '../dialect';
import { mostToolUnits, scannedToolUnits, type ToolUnits } from '../reported-tools';
import { X_SEARCH } from './item-words';
import type { UpstreamResponse } from './relayed-answer';

/** Returns the tools to charge: those of the output items, of items that came before, and of the usage. */
export function unitsOfResponse(
  { webSearches, tools, otherTurns, usage }: UpstreamResponse,
  before: ToolUnits,
  context: AnswerContext,
): ToolUnits {
  const items = mostToolUnits({ webSearches, tools, otherTurns }, before);
  const counted = usage === null ? {} : scannedToolUnits(usage.object);
  return mostToolUnits(chargedUnits(items, context), counted);
}

/** Returns units of items without the searches of X, unless the request asked for them: else custom tools have their names. */
export function chargedUnits(units: ToolUnits, { requestBody, providerTools }: AnswerContext): ToolUnits {
  const { tools } = units;
  if (tools?.has(X_SEARCH) !== true) return units;
  if ((providerTools ?? providerToolsIn(parseJson(requestBody))).includes(X_SEARCH)) return units;
  const others = new Map(tools);
  others.delete(X_SEARCH);
  return { ...units, tools: others.size > 0 ? others : undefined };
}
