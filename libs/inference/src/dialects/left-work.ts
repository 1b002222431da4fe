import { mostReads, possibleUses, tokensRead } from '../pricing/inner-reads';
import { toolRate, type BilledUnits } from '../pricing/price';
import { ToolCounter, type AllowedUses, type ProviderTool, type ToolUses } from '../pricing/tool-uses';
import type { AnswerContext } from './dialect';

/** Work of the provider's tools that a stream has shown. */
export interface SeenWork {
  readonly units?: BilledUnits | undefined;
  readonly compactions: number;
}

/** Prompt tokens that a model read several times in one call, and summaries that it wrote in addition to the answer. */
export interface InnerWork {
  /** Prompt tokens of all reads together, including the first. */
  readonly promptTokens: number;
  readonly reads: number;
  /** Summaries of compactions. */
  readonly summaryTokens: number;
}

interface LeftTokens {
  readonly promptTokens: number;
  /** Output tokens that the model may have written before its last tool use. */
  readonly completionTokens: number;
}

const NO_USES: readonly AllowedUses[] = [];

/** Returns the tool uses that a call has reserved, to bill a call whose output was never seen. */
export function reservedUses({ toolUses }: AnswerContext): readonly AllowedUses[] {
  return toolUses?.() ?? NO_USES;
}

/**
 * Returns how many of the reserved tool uses a stream has shown, to bill a stream whose caller has disconnected. The
 * model also reads the results of calls that have no charge, such as pages that a search opened, so these count as uses
 * here.
 */
export function seenUses(context: AnswerContext, { units = {}, compactions }: SeenWork): readonly AllowedUses[] {
  const seen = usesIn(units);
  let others = units.otherTurns ?? 0;
  return reservedUses(context).flatMap(({ leastContext: _met, ...reserved }) => {
    const names = reserved.tools ?? [];
    const shown = names.length === 0 ? compactions : names.reduce((sum, name) => sum + (seen.get(name) ?? 0), 0);
    const uses = Math.min(reserved.uses, names.length === 0 ? shown : shown + others);
    if (names.length > 0) others = Math.max(0, shown + others - uses);
    return uses === 0 ? [] : [{ ...reserved, uses, turns: Math.min(reserved.turns, uses) }];
  });
}

function usesIn({ webSearches = 0, tools }: BilledUnits): ToolUses {
  return new Map([...(tools ?? []), ['web_search', Math.max(webSearches, tools?.get('web_search') ?? 0)]]);
}

/** Returns the tokens that a model read and wrote because of these uses, by the same formula as the reservation. */
export function workOf(
  { endpoint: { contextLength } }: AnswerContext,
  uses: readonly AllowedUses[],
  left: LeftTokens,
): InnerWork {
  const call = { ...left, tools: uses, contextLength };
  const tools = possibleUses(call);
  const summaryTokens = tools.reduce((sum, one) => sum + one.uses * (one.tokensWritten ?? 0), 0);
  return { promptTokens: tokensRead({ ...call, tools }), reads: mostReads(tools), summaryTokens };
}

/**
 * Returns the units to charge for uses. If several tools share the uses, the price of the most expensive tool applies.
 */
export function unitsOfUses({ endpoint: { pricing } }: AnswerContext, uses: readonly AllowedUses[]): BilledUnits {
  const counter = new ToolCounter();
  let webSearches = 0;
  let otherTurns = 0;
  const rateOf = (tool: ProviderTool): bigint => toolRate(pricing, tool) ?? 0n;
  for (const { tools, uses: count, turns } of uses) {
    const [first, ...others] = tools ?? [];
    const dearest = others.reduce((most, tool) => (rateOf(tool) > rateOf(most ?? tool) ? tool : most), first);
    if (dearest === 'web_search') webSearches += count;
    else if (dearest !== undefined) counter.add(dearest, count);
    otherTurns += Math.max(0, turns - (dearest === undefined ? 0 : count));
  }
  return { webSearches, tools: counter.uses, otherTurns };
}
