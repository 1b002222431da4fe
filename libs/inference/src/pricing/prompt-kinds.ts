/** The parts of a prompt that have rates of their own, as far as the request shows them. */
export interface PromptKinds {
  /** Sound among the tokens of the prompt. */
  readonly audioTokens: number;
  /** Pictures among the tokens of the prompt. */
  readonly imageTokens: number;
  readonly images: number;
  /** `imageTokens` as counted by each model family; absent without pictures. */
  readonly imageTokensBy?: Readonly<Record<string, number>>;
  /** How long the request asks a prompt cache to keep what it writes; null if it asks for no cache writes. */
  readonly cacheWrite: CacheWrite | null;
}

/** Tokens of a film for each of its tokens that counts as sound: 300 and 32 a second (`MEDIA_LIMITS`). */
const FILM_PER_SOUND = 300 / 32;

/** Returns the most tokens of films that can have counted as this many tokens of sound. */
export function filmTokens(audioTokens: number): number {
  return Math.ceil(audioTokens * FILM_PER_SOUND);
}

export type CacheWrite = '5m' | '1h';
