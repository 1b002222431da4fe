/** What of a prompt has rates of its own, as far as a request says. */
export interface PromptKinds {
  /** Sound among the tokens of the prompt. */
  readonly audioTokens: number;
  /** Pictures among the tokens of the prompt. */
  readonly imageTokens: number;
  readonly images: number;
  /** `imageTokens` as models of each family count them; absent without pictures. */
  readonly imageTokensBy?: Readonly<Record<string, number>>;
  /** How long a prompt cache is to keep what the request has it write; null where it asks for no writing. */
  readonly cacheWrite: CacheWrite | null;
}

export type CacheWrite = '5m' | '1h';
