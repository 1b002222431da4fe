import { isObject, findMember, type ScannedObject } from '@libs/json';
import { mostUses, type ProviderTool } from '../pricing/tool-uses';
import type { BilledUnits } from '../pricing/price';
import { toolOfType } from '../model/provider-tools';
import { MOST_TURNS } from './inner-turns';
import { withLateOutput } from './seen-output';
import { valueAt } from './usage-details';

/** The provider tools that ran for one answer, with their number of uses. */
export type ToolUnits = Pick<BilledUnits, 'webSearches' | 'tools' | 'otherTurns'>;

/** Fields of a usage object that count tool uses, and the pattern of the names inside them. */
const COUNTERS: readonly (readonly [string, RegExp])[] = [
  ['server_tool_use', /^(.+)_requests$/],
  ['server_tool_use_details', /^(.+)_requests$/],
  // xAI
  ['server_side_tool_usage_details', /^(.+)_calls$/],
];
const WEB_SEARCH: ProviderTool = 'web_search';
/** Takes the place of a tool's name. */
const OTHER_TURN = '';
const NOTHING: ToolUnits = {};

/** Returns the tool uses in an upstream's usage object, on any API. */
export function toolUnitsIn(usage: unknown): ToolUnits {
  const uses = new Map<ProviderTool, number>();
  for (const [member, pattern] of COUNTERS) {
    const counts = isObject(usage) ? usage[member] : undefined;
    if (isObject(counts)) addCounts(uses, Object.entries(counts), pattern);
  }
  return unitsOfUses(uses);
}

/** Returns the tool uses in a usage object that was not parsed. */
export function scannedToolUnits(usage: ScannedObject): ToolUnits {
  const found: Record<string, unknown> = {};
  for (const [name] of COUNTERS) {
    const member = findMember(usage, name);
    if (member !== undefined) found[name] = valueAt(usage.bytes, member);
  }
  return toolUnitsIn(found);
}

function addCounts(
  uses: Map<ProviderTool, number>,
  counts: readonly (readonly [string, unknown])[],
  pattern: RegExp,
): void {
  for (const [name, count] of counts) {
    const tool = toolOfType(pattern.exec(name)?.[1] ?? 'function');
    if (tool === null || !Number.isSafeInteger(count) || (count as number) <= 0) continue;
    uses.set(tool, Math.max(uses.get(tool) ?? 0, Math.min(count as number, MOST_TURNS)));
  }
}

/** Returns tool uses as units of a bill, which counts web searches in a separate field. */
export function unitsOfUses(uses: ReadonlyMap<ProviderTool, number>): ToolUnits {
  if (uses.size === 0) return NOTHING;
  const webSearches = uses.get(WEB_SEARCH);
  const tools = new Map(uses);
  tools.delete(WEB_SEARCH);
  return {
    ...(webSearches !== undefined && { webSearches }),
    ...(tools.size > 0 && { tools }),
  };
}

/** Returns the greater count of each tool, for an answer that reports its tools in two places. */
export function mostToolUnits(one: ToolUnits, other: ToolUnits): ToolUnits {
  const tools = mostUses(one.tools, other.tools);
  const webSearches = Math.max(one.webSearches ?? 0, other.webSearches ?? 0);
  const otherTurns = Math.max(one.otherTurns ?? 0, other.otherTurns ?? 0);
  return {
    ...(webSearches > 0 && { webSearches }),
    ...(tools !== undefined && { tools }),
    ...(otherTurns > 0 && { otherTurns }),
  };
}

/**
 * Adds the tool uses that a stream showed after its last report to the units of the report. It is unknown whether the
 * report includes them, as with `withLateOutput`. Returns the same object if there were none.
 * @param then uses shown when the report came, of all `now`
 */
export function withLateTools(reported: BilledUnits, now: ToolUnits = NOTHING, then: ToolUnits = NOTHING): BilledUnits {
  const [said, seen, before] = [usesIn(reported), usesIn(now), usesIn(then)];
  const all = new Map(said);
  for (const [tool, uses] of seen) {
    all.set(tool, withLateOutput(said.get(tool) ?? 0, uses, uses - (before.get(tool) ?? 0)));
  }
  const isSame = [...all].every(([tool, uses]) => uses === (said.get(tool) ?? 0));
  if (isSame) return reported;
  const otherTurns = all.get(OTHER_TURN) ?? 0;
  all.delete(OTHER_TURN);
  return { ...reported, ...unitsOfUses(all), ...(otherTurns > 0 && { otherTurns }) };
}

/** Returns the number of uses by tool, with web searches and other turns among them. */
function usesIn({ webSearches = 0, tools, otherTurns = 0 }: ToolUnits): ReadonlyMap<string, number> {
  const uses = new Map(tools ?? []);
  if (webSearches > 0) uses.set(WEB_SEARCH, webSearches);
  if (otherTurns > 0) uses.set(OTHER_TURN, otherTurns);
  return uses;
}

/** Returns undefined for units that count nothing. */
export function orNone(units: ToolUnits): ToolUnits | undefined {
  return Object.keys(units).length > 0 ? units : undefined;
}
