/**
 * Tools that a provider runs during an answer, by the names under which the catalogue prices them (`tool_pricing`).
 * Requests name them by types, which have versions and differ between APIs; answers show them as items.
 */
export type ProviderTool = string;

/** How often each tool ran. A map, because the names come from providers. */
export type ToolUses = ReadonlyMap<ProviderTool, number>;

/** Upper limit of tool uses that are counted for one request, above what providers allow. */
export const MOST_USES = 100;

/** Uses of tools that a provider may make for one request. */
export interface AllowedUses {
  /** The tools that share the limit `uses`. Null: any tool that the provider has a price for. */
  readonly tools: readonly ProviderTool[] | null;
  readonly uses: number;
  /** How often the model reads its context again because of the uses; 0 if it reads all results at once. */
  readonly turns: number;
  /** Tokens that one use adds to the context. */
  readonly tokensPerUse: number;
  /** Tokens that one use writes and that are charged like output; 0 if absent. */
  readonly tokensWritten?: number;
  /** The uses happen only in a context of at least this many estimated tokens; absent: in any context. */
  readonly leastContext?: number;
}

/** Counts the uses of each tool in one answer. */
export class ToolCounter {
  #uses: ToolUses | undefined;

  /** Undefined while nothing was used. Later uses do not change the map. */
  get uses(): ToolUses | undefined {
    return this.#uses;
  }

  add(tool: ProviderTool, uses = 1): void {
    this.#uses = new Map(this.#uses).set(tool, (this.#uses?.get(tool) ?? 0) + uses);
  }
}

/** Returns the greater count of each tool, for an answer that was counted in two ways. */
export function mostUses(one: ToolUses | undefined, other: ToolUses | undefined): ToolUses | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const most = new Map(one);
  for (const [tool, count] of other) most.set(tool, Math.max(count, most.get(tool) ?? 0));
  return most;
}
