/** An entry of `pricing.overrides` in the form that the file and the listings have. */
export interface ListedOverride {
  readonly min_prompt_tokens?: number;
  /** Hour of the UTC day, such as 16.5. */
  readonly utc_start?: number;
  readonly utc_end?: number;
  /** Decimal strings in US dollars per token. */
  readonly [rate: string]: string | number | undefined;
}

/** Prices as decimal strings, under the names in the catalogue file. */
export interface ListedPrices {
  readonly overrides?: readonly ListedOverride[];
  readonly [rate: string]: string | readonly ListedOverride[] | undefined;
}
