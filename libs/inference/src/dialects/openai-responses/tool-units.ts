import { SEARCH_PREVIEW } from '../../model/provider-tools';
import { toolRate } from '../../pricing/price';
import { askedTools } from '../asked-tools';
import type { AnswerContext } from '../dialect';
import { mostToolUnits, scannedToolUnits, type ToolUnits } from '../reported-tools';
import { X_SEARCH } from './item-words';
import type { UpstreamResponse } from './relayed-answer';

/** Returns the tools to charge: those of the output items, of items that arrived earlier, and of the usage. */
export function unitsOfResponse(
  { webSearches, tools, otherTurns, usage }: UpstreamResponse,
  before: ToolUnits,
  context: AnswerContext,
): ToolUnits {
  const items = mostToolUnits({ webSearches, tools, otherTurns }, before);
  const counted = usage === null ? {} : scannedToolUnits(usage.object);
  return searchesAsAsked(mostToolUnits(asked(items, context), counted), context);
}

/** Returns the tools to charge according to the items only. */
export function chargedUnits(units: ToolUnits, context: AnswerContext): ToolUnits {
  return searchesAsAsked(asked(units, context), context);
}

/** Returns the units, without X searches unless the request asked for them: custom tools may have the same names. */
function asked(units: ToolUnits, context: AnswerContext): ToolUnits {
  const { tools } = units;
  if (tools?.has(X_SEARCH) !== true || askedTools(context).includes(X_SEARCH)) return units;
  const others = new Map(tools);
  others.delete(X_SEARCH);
  return { ...units, tools: others.size > 0 ? others : undefined };
}

/**
 * Counts web searches as uses of the search tool that the request names. If it names two, the more expensive one
 * counts.
 */
function searchesAsAsked(units: ToolUnits, context: AnswerContext): ToolUnits {
  const { webSearches = 0, tools } = units;
  if (webSearches === 0) return units;
  const named = askedTools(context);
  if (!named.includes(SEARCH_PREVIEW)) return units;
  const { pricing } = context.endpoint;
  const isDearer = (toolRate(pricing, SEARCH_PREVIEW) ?? 0n) > (pricing.webSearch ?? 0n);
  if (named.includes('web_search') && !isDearer) return units;
  return { ...units, webSearches: 0, tools: new Map([...(tools ?? []), [SEARCH_PREVIEW, webSearches]]) };
}
