import { MOST_USES, type AllowedUses } from './tool-uses';

/** Assumed context length of endpoints for which the catalogue has none: that of the longest models on sale. */
const UNKNOWN_CONTEXT = 1_000_000;

/** A call whose provider may run tools. */
export interface ReadingCall {
  readonly promptTokens: number;
  /** Tokens of the whole answer. All of them may be written before the last use of a tool. */
  readonly completionTokens: number;
  readonly tools: readonly AllowedUses[];
  /** Null if the catalogue does not state it. */
  readonly contextLength: number | null;
}

/**
 * Returns the most prompt tokens that a provider can count for one call: the prompt once and, after each use of a tool,
 * the prompt, the answer so far and all results so far again. Each reading is limited by the context.
 */
export function tokensRead({ promptTokens, completionTokens, tools, contextLength }: ReadingCall): number {
  const most = contextLength ?? UNKNOWN_CONTEXT;
  const atOnce = tools.filter(({ turns }) => turns === 0).reduce((sum, one) => sum + one.uses * one.tokensPerUse, 0);
  const again = tools.filter(({ turns }) => turns > 0).sort((a, b) => b.tokensPerUse - a.tokensPerUse);
  let read = Math.max(promptTokens, Math.min(promptTokens + atOnce, most));
  let context = promptTokens + atOnce + completionTokens;
  let turnsLeft = MOST_USES;
  // Assumes that the largest results come first, because they are then read most often.
  for (const { uses, turns, tokensPerUse } of again) {
    const growing = Math.min(uses, turns, turnsLeft);
    turnsLeft -= growing;
    for (let turn = 0; turn < growing; turn += 1) {
      context = Math.min(context + tokensPerUse, most);
      read += context;
    }
  }
  const idle = again.reduce((sum, { uses, turns }) => sum + Math.max(0, turns - uses), 0);
  return read + Math.min(idle, turnsLeft) * Math.min(context, most);
}

/** Returns the uses that are possible for a call: some need a context of a certain size. */
export function possibleUses({ promptTokens, completionTokens, tools }: ReadingCall): readonly AllowedUses[] {
  if (!tools.some(({ leastContext }) => leastContext !== undefined)) return tools;
  const results = tools.reduce((sum, { uses, tokensPerUse }) => sum + uses * tokensPerUse, 0);
  const context = promptTokens + (results === 0 ? 0 : completionTokens + results);
  return tools.filter(({ leastContext = 0 }) => context >= leastContext);
}

/** Returns how often a model may read its prompt in one call. */
export function mostReads(tools: readonly AllowedUses[]): number {
  return (
    1 +
    Math.min(
      tools.reduce((sum, { turns }) => sum + turns, 0),
      MOST_USES,
    )
  );
}
