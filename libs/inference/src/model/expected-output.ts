import { mayDropCap } from '../dialects/bedrock-converse/model-family';
import type { Endpoint } from '../routing/catalogue-entries';

/** What a request says of the tokens that its answer may take. */
export interface ExpectedOutput {
  /** The caller's cap on one answer, the largest of those named, or null. */
  readonly maxTokens: number | null;
  readonly answers: number;
  readonly thinking: ThinkingWish;
}

export interface ThinkingWish {
  /** True: the request asks the model to think; false: it forbids it; null: it does not say. */
  readonly isAsked: boolean | null;
  /** The cap on thoughts in tokens, or null. */
  readonly maxTokens: number | null;
}

/** What an answer without a cap is expected to hold; what goes beyond it is charged all the same. */
const UNCAPPED_TOKENS = 1_024;
/**
 * Caps are often set to what the model can do at most, and answers seldom come near. Holding all of it would
 * refuse callers who can pay for what they will get; beyond this the bill is charged as overage.
 */
const MOST_HELD_TOKENS = 16_384;

/** Of a picture of up to 1,024 points a side (Gemini). */
export const PICTURE_TOKENS = 1_290;

type Capacity = Pick<Endpoint, 'maxCompletionTokens' | 'pricing'>;
type Writer = Capacity & Pick<Endpoint, 'provider' | 'upstreamModel'>;
type Wish = Pick<ExpectedOutput, 'maxTokens' | 'answers'> & Partial<Pick<ExpectedOutput, 'thinking'>>;

/** Returns the tokens that one answer without a cap is expected to hold at an endpoint. */
export function uncappedTokens({ maxCompletionTokens, pricing }: Capacity): number {
  const expected = UNCAPPED_TOKENS + (pricing.imageOutputToken === undefined ? 0 : PICTURE_TOKENS);
  return Math.min(expected, maxCompletionTokens ?? expected);
}

/** Returns the output tokens that a call reserves at an endpoint. */
export function heldOutputTokens(endpoint: Writer, { maxTokens, answers, thinking }: Wish): number {
  const { maxCompletionTokens } = endpoint;
  const isCapSent = maxTokens !== null && !(thinking?.isAsked && mayDropCap(endpoint));
  const expected = isCapSent ? maxTokens : Math.max(maxTokens ?? 0, uncappedTokens(endpoint));
  return Math.min(expected, maxCompletionTokens ?? MOST_HELD_TOKENS, MOST_HELD_TOKENS) * answers;
}

interface ThinkingMembers {
  readonly reasoning?: unknown;
  readonly reasoning_effort?: unknown;
  readonly thinking?: unknown;
}

interface ThinkingSettings {
  readonly enabled?: unknown;
  readonly effort?: unknown;
  readonly type?: unknown;
  readonly max_tokens?: unknown;
  readonly budget_tokens?: unknown;
}

/** Reads what a checked request of any API says of thinking: `reasoning`, `reasoning_effort` or `thinking`. */
export function thinkingWishOf({ reasoning, reasoning_effort: effort, thinking }: ThinkingMembers): ThinkingWish {
  const settings = (thinking ?? reasoning ?? null) as ThinkingSettings | null;
  if (settings === null) return { isAsked: effort == null ? null : effort !== 'none', maxTokens: null };
  const cap = settings.budget_tokens ?? settings.max_tokens;
  const maxTokens = typeof cap === 'number' && cap >= 0 ? cap : null;
  return { isAsked: !isOff({ effort, ...settings }), maxTokens };
}

function isOff({ enabled, type, effort }: ThinkingSettings): boolean {
  return enabled === false || type === 'disabled' || effort === 'none';
}
