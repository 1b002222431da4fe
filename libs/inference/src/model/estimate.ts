import { scanJsonShape, type PromptEstimate } from './json-shape';
import { TextCounter, tokensOfUnits } from './text-tokens';

/**
 * Fewest bytes per token in an estimate. Token counts are estimated from bytes, for reservations and for upstreams that
 * report nothing. A tokenizer would be more exact, but hostile text can keep one busy for seconds.
 */
export const BYTES_PER_TOKEN = 4;

export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/**
 * Estimates the prompt tokens of a request body, which must be valid JSON: at least 0.5 of the true number. Every
 * string and field name counts; media count by their content, token ids one each.
 */
export function estimatePromptTokens(body: Buffer): number {
  return scanJsonShape(body).prompt.tokens;
}

/** Estimates the prompt tokens with the usual tokens of text and of media that cannot be measured. */
export function likelyPromptTokens(body: Buffer): number {
  return scanJsonShape(body).prompt.likelyTokens;
}

/**
 * Estimates the prompt of a request body, which must be valid JSON, including the kinds of tokens that have rates of
 * their own.
 */
export function estimatePrompt(body: Buffer): PromptEstimate {
  return scanJsonShape(body).prompt;
}

/**
 * An estimate is at least this share of a prompt's real tokens. `text-floor.spec.ts` and `prompt-estimate.spec.ts` find
 * no text below 0.6; a search through the vocabularies found words, such as "selede", down to 0.5.
 */
const LEAST_SHARE = 0.5;
const LEAST_USUAL_SHARE = 0.6;

/** Returns the most tokens that a prompt with this estimate may have. */
export function mostPromptTokens(estimated: number): number {
  return Math.ceil(estimated / LEAST_SHARE);
}

/** Returns the most tokens that a prompt of ordinary text may have, from an estimate made for such text. */
export function mostLikelyPromptTokens(likely: number): number {
  return Math.ceil(likely / LEAST_USUAL_SHARE);
}

/** Estimates the tokens of a text: at least 0.5 of the true number. */
export function estimateTextTokens(text: string): number {
  return tokensOfUnits(countText(text).mostUnits);
}

/** Estimates the tokens of a text on the assumption that it is ordinary text. */
export function usualTextTokens(text: string): number {
  return tokensOfUnits(countText(text).units);
}

function countText(text: string): TextCounter {
  const json = Buffer.from(JSON.stringify(text));
  return new TextCounter().add(json, 1, json.length - 1);
}
