import { objectOf, objectsOf, type JsonObject } from '@libs/json';
import type { Endpoint } from '../catalogue/catalogue-entries';
import type { AllowedUses } from '../pricing/tool-uses';
import { mayDropCap } from './dropped-cap';
import { estimateTextTokens } from './estimate';
import { outputLimitOf } from './output-limit';

/** What a request says about the number of tokens in its answer. */
export interface ExpectedOutput {
  /** The caller's cap on one answer (the largest, if several are set), or null. */
  readonly maxTokens: number | null;
  readonly answers: number;
  readonly thinking: ThinkingWish;
  /** Tokens of the caller's `prediction`. Those that the model rejects are charged like tokens of the answer. */
  readonly predictedTokens?: number | undefined;
  /** Tool uses that a provider may make; absent: none. */
  readonly toolUses?: readonly AllowedUses[];
}

export interface ThinkingWish {
  /** True: the request asks the model to think; false: it forbids it; null: it does not say. */
  readonly isAsked: boolean | null;
  /** Cap on thoughts in tokens, for endpoints that accept one; null if the request sets no effective cap. */
  readonly maxTokens: number | null;
}

/** Tokens expected in an answer without a cap; a longer answer is charged in full. */
const UNCAPPED_TOKENS = 1_024;
/** Output tokens of a picture of up to 1,024 pixels a side (Gemini). */
export const PICTURE_TOKENS = 1_290;

type Capacity = Pick<Endpoint, 'maxCompletionTokens' | 'contextLength' | 'pricing'>;
type Writer = Capacity & Pick<Endpoint, 'provider' | 'upstreamModel'>;
type Wish = Pick<ExpectedOutput, 'maxTokens' | 'answers'> &
  Partial<Pick<ExpectedOutput, 'thinking' | 'predictedTokens'>>;

/** Returns the tokens that one answer without a cap is expected to hold at an endpoint. */
export function uncappedTokens({ maxCompletionTokens, pricing }: Omit<Capacity, 'contextLength'>): number {
  const expected = UNCAPPED_TOKENS + (pricing.imageOutputToken === undefined ? 0 : PICTURE_TOKENS);
  return Math.min(expected, maxCompletionTokens ?? expected);
}

/**
 * Returns the output tokens that a call reserves at an endpoint: all that its caps allow, because a model may use them,
 * plus a prediction, because a model may reject all of it.
 */
export function heldOutputTokens(
  endpoint: Writer,
  { maxTokens, answers, thinking, predictedTokens = 0 }: Wish,
): number {
  const isCapSent = maxTokens !== null && !(thinking?.isAsked && mayDropCap(endpoint));
  const expected = isCapSent ? maxTokens : Math.max(maxTokens ?? 0, uncappedTokens(endpoint));
  return (Math.min(expected, outputLimitOf(endpoint) ?? expected) + predictedTokens) * answers;
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

/** The fields of an API that limit how much a model may write. */
export interface OutputMembers {
  /** Fields that cap an answer. If two are set, a provider may obey either one, so the larger counts. */
  readonly caps: readonly string[];
  /** Fields that decide whether a model thinks. Providers may ignore such fields if they belong to another API. */
  readonly thinking: readonly (keyof ThinkingMembers)[];
}

const THINKING_MEMBERS = ['reasoning', 'reasoning_effort', 'thinking'] as const;

/** Reads from a validated request how many tokens one answer may have. */
export function readExpectedOutput(body: JsonObject, { caps, thinking }: OutputMembers): ExpectedOutput {
  const named = caps.map((name) => body[name]).filter((cap) => typeof cap === 'number');
  const maxTokens = named.length === 0 ? null : Math.max(...named);
  return { maxTokens, answers: 1, thinking: readThinkingWish(body, thinking) };
}

/** Returns the tokens of a prediction; undefined without one. */
export function predictedTokensOf(prediction: unknown): number | undefined {
  if ((prediction ?? null) === null) return undefined;
  const { content } = objectOf(prediction);
  const texts = typeof content === 'string' ? [content] : objectsOf(content).map(({ text }) => text);
  return texts.reduce<number>((sum, text) => sum + (typeof text === 'string' ? estimateTextTokens(text) : 0), 0);
}

export const NO_THINKING_WISH: ThinkingWish = { isAsked: null, maxTokens: null };

/**
 * Reads what a request says about thinking. Only fields of the request's own API can forbid or limit it, and an effort
 * removes the limit. Fields of any API can ask for it, because a provider may obey them.
 */
export function readThinkingWish(body: ThinkingMembers, ownMembers: OutputMembers['thinking']): ThinkingWish {
  if (body.reasoning == null && body.reasoning_effort == null && body.thinking == null) return NO_THINKING_WISH;
  const own = ownMembers.flatMap((name) => settingsOf(name, body));
  const all = THINKING_MEMBERS.flatMap((name) => settingsOf(name, body));
  const isAsked = all.some(asks) || (own.length > 0 ? !own.some(forbids) : null);
  const [bound] = own.flatMap(({ budget_tokens: budget, max_tokens: cap }) => budget ?? cap ?? []);
  const isBound = typeof bound === 'number' && !all.some(({ effort }) => effort != null);
  return { isAsked, maxTokens: isBound ? bound : null };
}

function settingsOf(name: keyof ThinkingMembers, body: ThinkingMembers): readonly ThinkingSettings[] {
  const value = body[name] ?? null;
  if (value === null) return [];
  return [name === 'reasoning_effort' ? { effort: value } : value];
}

/**
 * Returns whether settings ask for thinking. An effort overrides `enabled: false`, because dialects may send either.
 */
function asks({ enabled, type, effort, max_tokens: cap, budget_tokens: budget }: ThinkingSettings): boolean {
  if (effort != null) return effort !== 'none';
  if (enabled === false || type === 'disabled') return false;
  return (enabled ?? type ?? cap ?? budget) != null;
}

function forbids({ enabled, type, effort }: ThinkingSettings): boolean {
  return enabled === false || type === 'disabled' || effort === 'none';
}
