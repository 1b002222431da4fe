import {
  memberEdits,
  missingMembers,
  type ByteEdit,
  type ScannedObject,
  isObject,
  objectOf,
  objectsOf,
  stringOf,
  type JsonObject,
} from '@libs/json';
import { tierWord } from '../../catalogue/service-tiers';
import type { ToolUses } from '../../pricing/tool-uses';
import type { Usage } from '../../pricing/usage';
import { isByok, upstreamCostText } from '../../pricing/byok-fee';
import { formatUsd, usdNumber } from '../../pricing/money';
import type { BilledUnits, Cost } from '../../pricing/price';
import { MOST_TURNS, turnsOf } from '../inner-turns';
import { settleUsage } from '../openai-usage';
import { withLateOutput } from '../seen-output';
import { totalOf, type Bill } from '../translation';
import { USAGE_MEMBERS } from './required-members';

/**
 * The counts of a usage object of the Messages API; null: missing or unusable. `input` excludes
 * what was read from or written to the prompt cache.
 */
export interface MessageCounts {
  readonly input: number | null;
  readonly output: number | null;
  readonly cacheRead: number | null;
  readonly cacheWrite: number | null;
  /** The part of `cacheWrite` that is cached for one hour. */
  readonly cacheWrite1h: number | null;
  /** The part of `output` that is thoughts. */
  readonly thinking: number | null;
  readonly webSearches: number | null;
  readonly webFetches: number | null;
  readonly serviceTier: string | null;
  /** `speed` as the upstream says it. */
  readonly speed: string | null;
  /** Uses of tools that the provider ran, counted from the content blocks; null if they were not counted. */
  readonly tools: ToolUses | null;
  /** Of these, the uses that a stream had shown when it reported `webSearches`; null for a whole message. */
  readonly toolsThen: ToolUses | null;
  /** Tokens that compaction used, in addition to all counts above. */
  readonly compaction: CompactionCounts | null;
}

interface CompactionCounts {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly cacheWrite1h: number;
  /** How often the model was asked. */
  readonly rounds: number;
}

export const NO_COMPACTION: CompactionCounts = {
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  cacheWrite1h: 0,
  rounds: 0,
};

export const NO_COUNTS: MessageCounts = {
  input: null,
  output: null,
  cacheRead: null,
  cacheWrite: null,
  cacheWrite1h: null,
  thinking: null,
  webSearches: null,
  webFetches: null,
  serviceTier: null,
  speed: null,
  tools: null,
  toolsThen: null,
  compaction: null,
};

const START_MEMBERS: Readonly<Record<string, string>> = {
  input_tokens: '0',
  cache_creation_input_tokens: 'null',
  cache_read_input_tokens: 'null',
  output_tokens: '0',
  ...USAGE_MEMBERS,
};

/** The usage field for web searches, which have a price of their own. */
const WEB_SEARCH = 'web_search';
const WEB_FETCH = 'web_fetch';

export function countsOf(usage: unknown): MessageCounts {
  if (!isObject(usage)) return NO_COUNTS;
  const tools = objectOf(usage['server_tool_use']);
  return {
    input: whole(usage['input_tokens']),
    output: whole(usage['output_tokens']),
    cacheRead: whole(usage['cache_read_input_tokens']),
    cacheWrite: whole(usage['cache_creation_input_tokens']),
    cacheWrite1h: hourOf(usage),
    thinking: whole(objectOf(usage['output_tokens_details'])['thinking_tokens']),
    webSearches: whole(tools['web_search_requests']),
    webFetches: whole(tools['web_fetch_requests']),
    serviceTier: stringOf(usage['service_tier']) ?? null,
    speed: stringOf(usage['speed']) ?? null,
    tools: null,
    toolsThen: null,
    compaction: compactionOf(objectsOf(usage['iterations'])),
  };
}

/** Returns the tier that served, as chat completions name it; null if unknown. `speed: fast` is the priority tier. */
export function tierOf({ serviceTier, speed }: MessageCounts): string | null {
  if (speed === 'fast') return 'priority';
  return serviceTier === null ? null : tierWord(serviceTier);
}

/** Returns the sum of the compactions, which are billed but not part of the other counts of the usage. */
function compactionOf(iterations: readonly JsonObject[]): CompactionCounts | null {
  const compactions = iterations.filter(({ type }) => type === 'compaction');
  if (compactions.length === 0) return null;
  const sum = (name: string) => compactions.reduce((total, each) => total + (whole(each[name]) ?? 0), 0);
  return {
    input: sum('input_tokens'),
    output: sum('output_tokens'),
    cacheRead: sum('cache_read_input_tokens'),
    cacheWrite: sum('cache_creation_input_tokens'),
    cacheWrite1h: compactions.reduce((total, each) => total + (hourOf(each) ?? 0), 0),
    rounds: compactions.length,
  };
}

function hourOf(usage: JsonObject): number | null {
  return whole(objectOf(usage['cache_creation'])['ephemeral_1h_input_tokens']);
}

export interface SettledUsage {
  readonly usage: Usage;
  readonly units: BilledUnits;
}

export interface MessageBounds {
  /** Context length of the endpoint, in tokens. */
  readonly contextLength: number;
  readonly estimate: () => { readonly promptTokens: number; readonly completionTokens: number };
  readonly fallback: 'estimated' | 'partial';
}

/**
 * Returns the usage to bill. The prompt includes cache reads and cache writes; it may be longer than the context
 * if server tools or compaction made the model run several times.
 */
export function settleMessage(
  counts: MessageCounts,
  { contextLength, estimate, fallback }: MessageBounds,
): SettledUsage {
  const extra = counts.compaction ?? NO_COMPACTION;
  const cached = zeroed(counts.cacheRead) + extra.cacheRead;
  const cacheWrite = zeroed(counts.cacheWrite) + extra.cacheWrite;
  const units = unitsOf(counts, extra);
  const bound = contextLength * turnsOf(units);
  const reported = {
    prompt: counts.input === null ? null : asCount(counts.input + extra.input + cached + cacheWrite),
    completion: counts.output === null ? null : asCount(counts.output + extra.output),
    total: null,
    cached,
    cacheWrite,
    audioPrompt: null,
    reasoning: counts.thinking,
    audioCompletion: null,
  };
  const bounds = { maxPromptTokens: bound, maxCompletionTokens: bound, estimate, fallback };
  return { usage: settleUsage(reported, bounds), units };
}

function unitsOf(counts: MessageCounts, extra: CompactionCounts): BilledUnits {
  const { cacheWrite1h, webFetches, tools } = counts;
  const hourWrites = zeroed(cacheWrite1h) + extra.cacheWrite1h;
  const searches = Math.min(searchesOf(counts), MOST_TURNS);
  const others = new Map([...(tools ?? [])].filter(([tool]) => tool !== WEB_SEARCH));
  const fetches = Math.max(0, zeroed(webFetches) - (others.get(WEB_FETCH) ?? 0));
  const otherTurns = Math.min(fetches + extra.rounds, MOST_TURNS);
  return {
    ...(hourWrites > 0 && { cacheWrite1hTokens: hourWrites }),
    ...(searches > 0 && { webSearches: searches }),
    ...(others.size > 0 && { tools: others }),
    ...(otherTurns > 0 && { otherTurns }),
  };
}

/** Returns the searches of the last report, and those that a stream showed after it. */
function searchesOf({ webSearches, tools, toolsThen }: MessageCounts): number {
  const seen = tools?.get(WEB_SEARCH) ?? 0;
  if (webSearches === null || toolsThen === null) return webSearches ?? seen;
  return withLateOutput(webSearches, seen, seen - (toolsThen.get(WEB_SEARCH) ?? 0));
}

/** Keeps a sum of absurd counts a count, which the bounds then cut. */
function asCount(sum: number): number {
  return Math.min(sum, Number.MAX_SAFE_INTEGER);
}

function zeroed(count: number | null): number {
  return count ?? 0;
}

/**
 * Completes the upstream's usage object in place: the cost, the `required` fields, and counts that are missing or
 * implausible.
 */
export function messageUsageEdits(
  object: ScannedObject,
  { usage, cost }: Bill,
  required: Readonly<Record<string, string>>,
): ByteEdit[] {
  const set = { ...costMembers(cost), ...missingMembers(object, required) };
  for (const [name, count] of Object.entries(countMembers(usage))) {
    const isMissing = !object.members.some(({ key }) => key === name);
    if (isMissing || usage.provenance !== 'upstream') set[name] = String(count);
  }
  return memberEdits(object, { set });
}

/** Returns a usage object made by the gateway as JSON text, with exact amounts. */
export function messageUsageText({ usage, cost }: Bill): string {
  const own = Object.entries(costMembers(cost)).map(([name, text]) => `,"${name}":${text}`);
  return `${JSON.stringify(countObject(usage, 'standard')).slice(0, -1)}${own.join('')}}`;
}

/** Returns a usage object for a translated answer; costs are the doubles nearest to the exact amounts. */
export function messageUsageObject(bill: Bill, serviceTier: string | null): object {
  const { usage, cost, tools } = bill;
  return {
    ...countObject(usage, serviceTier),
    ...(tools && {
      server_tool_use: { web_search_requests: tools.webSearches, web_fetch_requests: tools.webFetches },
    }),
    cost: usdNumber(totalOf(bill)),
    cost_details: {
      upstream_inference_cost: cost.upstreamCost === undefined ? null : usdNumber(cost.upstreamCost),
      upstream_inference_prompt_cost: usdNumber(cost.promptCost),
      upstream_inference_completions_cost: usdNumber(cost.completionCost),
      ...(tools && { server_tool_cost: usdNumber(tools.cost) }),
    },
    is_byok: isByok(cost),
  };
}

/** Returns the usage object of `message_start`, which has no cost. */
export function countObject(usage: Usage, serviceTier: string | null): object {
  return {
    ...countMembers(usage),
    cache_creation: null,
    output_tokens_details: { thinking_tokens: usage.reasoningTokens },
    server_tool_use: null,
    inference_geo: null,
    service_tier: serviceTier,
  };
}

/** Completes the upstream's usage object in `message_start`; the cost is not known yet. */
export function startUsageEdits(object: ScannedObject): ByteEdit[] {
  return memberEdits(object, { set: missingMembers(object, START_MEMBERS) });
}

function countMembers(usage: Usage): object {
  const { promptTokens, cachedTokens, cacheWriteTokens, completionTokens } = usage;
  return {
    input_tokens: Math.max(0, promptTokens - cachedTokens - cacheWriteTokens),
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cachedTokens,
    output_tokens: completionTokens,
  };
}

function costMembers(cost: Cost): Record<string, string> {
  return {
    cost: formatUsd(cost.totalCost),
    cost_details:
      `{"upstream_inference_cost":${upstreamCostText(cost)},"upstream_inference_prompt_cost":${formatUsd(cost.promptCost)},` +
      `"upstream_inference_completions_cost":${formatUsd(cost.completionCost)}}`,
    is_byok: String(isByok(cost)),
  };
}

function whole(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null;
}
