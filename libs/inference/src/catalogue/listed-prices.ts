/** An entry of `pricing.overrides` as the file and the listings have it. */
export interface ListedOverride {
  readonly min_prompt_tokens?: number;
  /** Hours of the UTC day, such as 16.5. */
  readonly utc_start?: number;
  readonly utc_end?: number;
  /** Decimal strings in US dollars per token. */
  readonly [rate: string]: string | number | undefined;
}

/** Decimal strings under the names of the file. */
export interface ListedPrices {
  readonly overrides?: readonly ListedOverride[];
  readonly [rate: string]: string | readonly ListedOverride[] | undefined;
}
