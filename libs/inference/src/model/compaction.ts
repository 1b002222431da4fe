import { objectOf, objectsOf, type JsonObject } from '@libs/json';
import type { AllowedUses } from '../pricing/tool-uses';

/**
 * Anthropic compacts no context below 50,000 tokens. An estimate is at least 0.6 of the real tokens, so this is 0.6 of
 * it.
 */
const LEAST_CONTEXT = 30_000;

/** Anthropic's manual shows a summary of 3,500 tokens for a context of 180,000. No provider documents a maximum. */
const SUMMARY_TOKENS = 20_000;

/** With the caller's own instructions, a summary may be as long as the longest answer of Claude. */
const INSTRUCTED_TOKENS = 128_000;

/** The model reads its context once more and writes a summary of it, then continues with a shorter context. */
const COMPACTION: AllowedUses = { tools: [], uses: 1, turns: 1, tokensPerUse: 0, tokensWritten: SUMMARY_TOKENS };

const NONE: readonly AllowedUses[] = [];
const PLAIN: readonly AllowedUses[] = [COMPACTION];

/* Returns the compaction that a request may lead to, by API. It counts as a use without a tool. */

export function compactionsOfResponse({ context_management: asked }: JsonObject): readonly AllowedUses[] {
  return objectsOf(asked).some(compacts) ? PLAIN : NONE;
}

export function compactionsOfMessage({ context_management: asked }: JsonObject): readonly AllowedUses[] {
  const edits = objectsOf(objectOf(asked)['edits']).filter(compacts);
  if (edits.length === 0) return NONE;
  const isInstructed = edits.some(({ instructions }) => (instructions ?? null) !== null);
  const tokensWritten = isInstructed ? INSTRUCTED_TOKENS : SUMMARY_TOKENS;
  return [{ ...COMPACTION, tokensWritten, leastContext: LEAST_CONTEXT }];
}

/** Returns whether a type asks for compaction: `compaction` in Responses, `compact_` with a date in Messages. */
function compacts({ type }: JsonObject): boolean {
  return typeof type === 'string' && type.startsWith('compact');
}
