/**
 * Tools that a provider runs while it answers, by the names that the catalogue prices them under (`tool_pricing`): a
 * request names them by types, which have versions and differ between APIs, and an answer by its items.
 */
export type ProviderTool = string;

/** How often each tool ran. A map, because the names come from providers. */
export type ToolUses = ReadonlyMap<ProviderTool, number>;

/** More uses of tools than a provider may make for one request. */
export const MOST_USES = 100;

/** Uses of tools that a provider may make for one request. */
export interface AllowedUses {
  /** At most `uses` of all of them together. Null: any tool that the provider has a price for. */
  readonly tools: readonly ProviderTool[] | null;
  readonly uses: number;
  /** How often the model reads its context again because of them; 0 if it reads all results at once. */
  readonly turns: number;
  /** Tokens that one use adds to the context. */
  readonly tokensPerUse: number;
  /** Tokens that one use writes and that are charged like those of the answer; 0 when absent. */
  readonly tokensWritten?: number;
  /** They are made only in a context that is estimated at so many tokens; in any when absent. */
  readonly leastContext?: number;
}

/** Counts the uses of each tool in one answer. */
export class ToolCounter {
  #uses: Map<ProviderTool, number> | undefined;

  /** Undefined while nothing was used. */
  get uses(): ToolUses | undefined {
    return this.#uses;
  }

  add(tool: ProviderTool, uses = 1): void {
    this.#uses ??= new Map();
    this.#uses.set(tool, (this.#uses.get(tool) ?? 0) + uses);
  }
}

/** Returns the greater count of each tool where an answer is counted twice. */
export function mostUses(one: ToolUses | undefined, other: ToolUses | undefined): ToolUses | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const most = new Map(one);
  for (const [tool, count] of other) most.set(tool, Math.max(count, most.get(tool) ?? 0));
  return most;
}
