import { findMember, memberEdits, type ByteEdit, type ScannedObject } from '@libs/json';
import type { Usage } from '../pricing/usage';
import { isByok, upstreamCostText } from '../pricing/byok-fee';
import { formatUsd } from '../pricing/money';
import type { Cost } from '../pricing/price';
import { NO_COUNTS, whole, type ReportedCounts, type ReportedUsage } from './reported-counts';
import type { ToolBill } from './translation';

/** The most that one call can use, and an estimate for counts that the upstream omits. */
export interface UsageBounds {
  readonly maxPromptTokens: number;
  /** Most output tokens; 0 for answers without output tokens, such as embeddings. */
  readonly maxCompletionTokens: number;
  /** Returns the estimated counts. Called only if a count is missing or implausible. */
  readonly estimate: () => { readonly promptTokens: number; readonly completionTokens: number };
  /** Provenance of a usage that the upstream did not report. */
  readonly fallback: 'estimated' | 'partial';
}

/**
 * Returns the usage to bill: the upstream's counts if they are integers of at least 0, cut to the endpoint's limits;
 * otherwise an estimate. `provenance` names every count that is not the upstream's. A reported zero stays zero.
 */
export function settleUsage(reported: ReportedCounts | null, bounds: UsageBounds): Usage {
  const counts = reported ?? NO_COUNTS;
  const said = { prompt: promptOf(counts), completion: completionOf(counts, bounds) };
  const { promptTokens, completionTokens } = withinBounds(said, bounds);
  const isReported = promptTokens === said.prompt && completionTokens === said.completion;
  const usage: Usage = {
    promptTokens,
    completionTokens,
    totalTokens: promptTokens + completionTokens,
    cachedTokens: partOf(promptTokens, counts.cached),
    cacheWriteTokens: partOf(promptTokens, counts.cacheWrite),
    reasoningTokens: partOf(completionTokens, counts.reasoning),
    audioPromptTokens: partOf(promptTokens, counts.audioPrompt),
    audioCompletionTokens: partOf(completionTokens, counts.audioCompletion),
    provenance: isReported ? 'upstream' : bounds.fallback,
  };
  const { videoPrompt, filePrompt, imageCompletion } = counts;
  if (videoPrompt) usage.videoPromptTokens = partOf(promptTokens, videoPrompt);
  if (filePrompt) usage.filePromptTokens = partOf(promptTokens, filePrompt);
  if (imageCompletion) usage.imageCompletionTokens = partOf(completionTokens, imageCompletion);
  return usage;
}

/**
 * Returns what an upstream reported, for an answer that is to be translated; null if there is neither main count. One of
 * them alone is kept as on the upstream's own API, so that every caller pays the same. Bounds are applied to the bill.
 */
export function reportedUsage(counts: ReportedCounts, most = Number.MAX_SAFE_INTEGER): Usage | null {
  const [prompt, completion] = [whole(counts.prompt), whole(counts.completion)];
  if (prompt === null && completion === null) return null;
  const usage = settleUsage(counts, {
    maxPromptTokens: most,
    maxCompletionTokens: most,
    // No part of a missing count is cut before the count is estimated.
    estimate: () => ({ promptTokens: most, completionTokens: most }),
    fallback: 'estimated',
  });
  return withUnreported(usage, { prompt, completion });
}

/** Marks the main count that an upstream did not report. */
export function withUnreported(
  usage: Usage,
  { prompt, completion }: { readonly prompt: number | null; readonly completion: number | null },
): Usage {
  if (prompt !== null && completion !== null) return usage;
  const totalTokens = (prompt ?? 0) + (completion ?? 0);
  if (prompt === null) return { ...usage, promptTokens: 0, totalTokens, unreported: 'prompt' };
  return { ...usage, completionTokens: 0, totalTokens, unreported: 'completion' };
}

function withinBounds(
  { prompt, completion }: { readonly prompt: number | null; readonly completion: number | null },
  { maxPromptTokens, maxCompletionTokens, estimate }: UsageBounds,
): { promptTokens: number; completionTokens: number } {
  const guess = prompt === null || completion === null ? estimate() : { promptTokens: 0, completionTokens: 0 };
  return {
    promptTokens: Math.min(prompt ?? guess.promptTokens, maxPromptTokens),
    completionTokens: Math.min(completion ?? guess.completionTokens, maxCompletionTokens),
  };
}

function partOf(total: number, part: number | null): number {
  return Math.min(whole(part) ?? 0, total);
}

function promptOf({ prompt, citations }: ReportedCounts): number | null {
  const tokens = whole(prompt);
  return tokens === null ? null : tokens + (whole(citations ?? null) ?? 0);
}

/** Some upstreams leave reasoning out of `completion_tokens` and include it only in `total_tokens`. */
function completionOf(counts: ReportedCounts, { maxCompletionTokens }: UsageBounds): number | null {
  if (maxCompletionTokens === 0) return 0;
  const completion = whole(counts.completion);
  const reasoning = whole(counts.reasoning) ?? 0;
  if (completion === null || reasoning === 0) return completion;
  const isBeside = whole(counts.citations ?? null) !== null;
  const isHidden = isBeside || counts.total === (counts.prompt ?? 0) + completion + reasoning;
  return isHidden ? completion + reasoning : completion;
}

/** Returns the usage fields that the gateway sets, as JSON text. Money is exact, never a float. */
function ownMembers(cost: Cost, tools?: ToolBill): Record<string, string> {
  return {
    cost: formatUsd(cost.totalCost + (tools?.cost ?? 0n)),
    cost_details:
      `{"upstream_inference_cost":${upstreamCostText(cost)},"upstream_inference_prompt_cost":${formatUsd(cost.promptCost)},` +
      `"upstream_inference_completions_cost":${formatUsd(cost.completionCost)}${toolCostText(tools)}}`,
    is_byok: String(isByok(cost)),
  };
}

function toolCostText(tools: ToolBill | undefined): string {
  return tools === undefined ? '' : `,"server_tool_cost":${formatUsd(tools.cost)}`;
}

/** `server_tool_use_details`. */
export function toolUseObject({ requested, executed, webSearches }: ToolBill): object {
  return { tool_calls_requested: requested, tool_calls_executed: executed, web_search_requests: webSearches };
}

/** Completes the upstream's usage object in place: our fields, and every count that we bill differently. */
export function usageEdits({ object, counts }: ReportedUsage, usage: Usage, cost: Cost, isChat: boolean): ByteEdit[] {
  const set = ownMembers(cost);
  if (counts.prompt !== usage.promptTokens) set['prompt_tokens'] = String(usage.promptTokens);
  if (isChat && counts.completion !== usage.completionTokens) set['completion_tokens'] = String(usage.completionTokens);
  if (counts.total !== usage.totalTokens) set['total_tokens'] = String(usage.totalTokens);
  if (usage.cachedTokens > 0 && !hasDetails(object)) {
    set['prompt_tokens_details'] = `{"cached_tokens":${usage.cachedTokens}}`;
  }
  return memberEdits(object, { set });
}

/** Returns whether a usage has `prompt_tokens_details`; some providers write cached tokens elsewhere. */
function hasDetails(object: ScannedObject): boolean {
  const details = findMember(object, 'prompt_tokens_details');
  return details !== undefined && object.bytes[details.valueStart] === OPEN_BRACE;
}

const OPEN_BRACE = 0x7b;

/** Returns a complete usage object as JSON text, for an answer whose upstream sent no usage object. */
export function usageText(usage: Usage, cost: Cost, isChat: boolean, tools?: ToolBill): string {
  const own = ownMembers(cost, tools);
  const completion = isChat ? `"completion_tokens":${usage.completionTokens},` : '';
  return (
    `{"prompt_tokens":${usage.promptTokens},${completion}"total_tokens":${usage.totalTokens},` +
    (isChat ? detailsText(usage) : '') +
    `"cost":${own['cost']},"cost_details":${own['cost_details']},"is_byok":${own['is_byok']}` +
    `${toolUseText(tools)}}`
  );
}

/** Clients read either name. */
function toolUseText(tools: ToolBill | undefined): string {
  if (tools === undefined) return '';
  const text = JSON.stringify(toolUseObject(tools));
  return `,"server_tool_use":${text},"server_tool_use_details":${text}`;
}

function detailsText(usage: Usage): string {
  const { cachedTokens, cacheWriteTokens, audioPromptTokens, reasoningTokens, audioCompletionTokens } = usage;
  const { videoPromptTokens, filePromptTokens, imageCompletionTokens } = usage;
  return (
    `"prompt_tokens_details":{"cached_tokens":${cachedTokens},"cache_write_tokens":${cacheWriteTokens},` +
    `"audio_tokens":${audioPromptTokens}${countText('video_tokens', videoPromptTokens)}` +
    `${countText('file_tokens', filePromptTokens)}},` +
    `"completion_tokens_details":{"reasoning_tokens":${reasoningTokens},` +
    `"audio_tokens":${audioCompletionTokens}${countText('image_tokens', imageCompletionTokens)}},`
  );
}

function countText(name: string, count: number | undefined): string {
  return count === undefined ? '' : `,"${name}":${count}`;
}
