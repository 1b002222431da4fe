import { formatUsd, type PicoUsd } from './money';
import type { ProviderTool } from './tool-uses';

/** Cost of each tool that a provider ran. A map, because the names come from catalogues. */
export type ToolCosts = ReadonlyMap<ProviderTool, PicoUsd>;

export function sumToolCosts(one: ToolCosts | undefined, other: ToolCosts | undefined): ToolCosts | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const sum = new Map(one);
  for (const [tool, cost] of other) sum.set(tool, (sum.get(tool) ?? 0n) + cost);
  return sum;
}

/** Returns what all tools cost together. */
export function totalToolCost(costs: ToolCosts): PicoUsd {
  return [...costs.values()].reduce<PicoUsd>((sum, cost) => sum + cost, 0n);
}

/** Returns the costs as decimal strings in US dollars, the form in which they are stored. */
export function toolCostTexts(costs: ToolCosts): Readonly<Record<ProviderTool, string>> {
  return Object.fromEntries([...costs].map(([tool, cost]) => [tool, formatUsd(cost)]));
}
