/**
 * Usage that a provider reported of a line in addition to token counts, in the stored form: counts above 0, and words.
 * Unreported fields are absent; a line without any reported usage has no such object.
 */
export interface LineUsageDetails extends Readonly<Partial<Record<DetailCount, number>>> {
  readonly speed?: string;
  readonly iterations?: readonly LineIteration[];
  /** The part of the list price for each tool that the provider ran, and for the rest. Exact decimal strings. */
  readonly providerTools?: Readonly<Record<string, string>>;
  readonly tokensUsd?: string;
}

/** Names of the counts, by which they are stored and summed. */
export const DETAIL_COUNTS = [
  'cacheWrite5mTokens',
  'cacheWrite1hTokens',
  'audioPromptTokens',
  'videoPromptTokens',
  'filePromptTokens',
  'audioCompletionTokens',
  'imageCompletionTokens',
  'webSearches',
  'webFetches',
  'toolCallsRequested',
  'toolCallsExecuted',
] as const;

export type DetailCount = (typeof DETAIL_COUNTS)[number];

/** Names of the counts of one iteration. */
export const ITERATION_COUNTS = [
  'inputTokens',
  'outputTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'cacheWrite5mTokens',
  'cacheWrite1hTokens',
] as const;

export type IterationCount = (typeof ITERATION_COUNTS)[number];

/** A part of a call in which the model ran several times. */
export interface LineIteration extends Readonly<Partial<Record<IterationCount, number>>> {
  readonly type: string;
  readonly model?: string;
}
