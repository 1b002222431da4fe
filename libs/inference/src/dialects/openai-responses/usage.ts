import { type JsonCursor, memberEdits, type ByteEdit, objectsOf } from '@libs/json';
import type { Usage } from '../../pricing/usage';
import { isByok, upstreamCostText } from '../../pricing/byok-fee';
import { formatUsd, usdNumber } from '../../pricing/money';
import type { BilledUnits, Cost } from '../../pricing/price';
import type { Endpoint } from '../../catalogue/catalogue';
import { turnsOf } from '../inner-turns';
import { reportedUsage, toolUseObject } from '../openai-usage';
import {
  COMPLETION_DETAILS,
  NO_COUNTS,
  PROMPT_DETAILS,
  countedUnits,
  detailsIn,
  readDetails,
  readUsageObject,
  type ReportedCounts,
  type ReportedUsage,
} from '../reported-counts';
import { totalOf, type Bill } from '../translation';
import { mostToolUnits, toolUnitsIn, type ToolUnits } from '../reported-tools';
import { unitsOfItems } from './item-words';

/** Upper bound of a token count if the catalogue names no context length. */
const UNBOUNDED_TOKENS = 1_000_000_000;

/** Reads the usage of a response at the cursor and moves past it; returns null if the value is not an object. */
export function readResponseUsage(cursor: JsonCursor): ReportedUsage | null {
  return readUsageObject(cursor, readCount);
}

function readCount(key: string, cursor: JsonCursor, counts: ReportedCounts): void {
  if (key === 'input_tokens') counts.prompt = cursor.readNumberOrNull();
  else if (key === 'output_tokens') counts.completion = cursor.readNumberOrNull();
  else if (key === 'total_tokens') counts.total = cursor.readNumberOrNull();
  else if (key === 'input_tokens_details') readDetails(cursor, counts, PROMPT_DETAILS);
  else if (key === 'output_tokens_details') readDetails(cursor, counts, COMPLETION_DETAILS);
  else cursor.skipValue();
}

/**
 * Completes the upstream's usage object in place: cost, required details, and every count that is billed differently.
 */
export function responseUsageEdits({ object, counts }: ReportedUsage, { usage, cost }: Bill): ByteEdit[] {
  const set: Record<string, string> = costMembers(cost);
  if (counts.prompt !== usage.promptTokens) set['input_tokens'] = String(usage.promptTokens);
  if (counts.completion !== usage.completionTokens) set['output_tokens'] = String(usage.completionTokens);
  if (counts.total !== usage.totalTokens) set['total_tokens'] = String(usage.totalTokens);
  if (counts.cached === null) set['input_tokens_details'] = JSON.stringify(inputDetails(usage));
  if (counts.reasoning === null) set['output_tokens_details'] = JSON.stringify(outputDetails(usage));
  return memberEdits(object, { set });
}

/** Returns a complete usage object as JSON text, with exact amounts. */
export function responseUsageText({ usage, cost }: Bill): string {
  const own = Object.entries(costMembers(cost)).map(([name, text]) => `,"${name}":${text}`);
  return `${JSON.stringify(countMembers(usage)).slice(0, -1)}${own.join('')}}`;
}

/**
 * Returns a complete usage object. Costs are JSON numbers, as the API defines them: the doubles nearest to the exact
 * amounts.
 */
export function responseUsageObject(bill: Bill): object {
  const { usage, cost, tools } = bill;
  return {
    ...countMembers(usage),
    cost: usdNumber(totalOf(bill)),
    cost_details: {
      upstream_inference_cost: cost.upstreamCost === undefined ? null : usdNumber(cost.upstreamCost),
      upstream_inference_input_cost: usdNumber(cost.promptCost),
      upstream_inference_output_cost: usdNumber(cost.completionCost),
      ...(tools && { server_tool_cost: usdNumber(tools.cost) }),
    },
    is_byok: isByok(cost),
    ...(tools && { server_tool_use_details: toolUseObject(tools) }),
  };
}

function countMembers(usage: Usage): object {
  return {
    input_tokens: usage.promptTokens,
    input_tokens_details: inputDetails(usage),
    output_tokens: usage.completionTokens,
    output_tokens_details: outputDetails(usage),
    total_tokens: usage.totalTokens,
  };
}

function inputDetails({ cachedTokens, cacheWriteTokens }: Usage): object {
  return { cached_tokens: cachedTokens, ...(cacheWriteTokens > 0 && { cache_write_tokens: cacheWriteTokens }) };
}

function outputDetails({ reasoningTokens }: Usage): object {
  return { reasoning_tokens: reasoningTokens };
}

function costMembers(cost: Cost): Record<string, string> {
  return {
    cost: formatUsd(cost.totalCost),
    cost_details:
      `{"upstream_inference_cost":${upstreamCostText(cost)},"upstream_inference_input_cost":${formatUsd(cost.promptCost)},` +
      `"upstream_inference_output_cost":${formatUsd(cost.completionCost)}}`,
    is_byok: String(isByok(cost)),
  };
}

/**
 * Returns the usage of a parsed response and what its output items used, cut to the endpoint's limits. Null if the
 * usage is missing or has neither main count: then estimate.
 * @param before tools of items that arrived before the response
 */
export function usageOfResponse(
  reported: unknown,
  items: unknown,
  { contextLength }: Endpoint,
  before: ToolUnits = {},
): ResponseUsage | null {
  if (typeof reported !== 'object' || reported === null) return null;
  const { input_tokens, output_tokens, total_tokens, input_tokens_details, output_tokens_details } = reported as Record<
    string,
    unknown
  >;
  const counts: ReportedCounts = {
    ...NO_COUNTS,
    prompt: numberOrNull(input_tokens),
    completion: numberOrNull(output_tokens),
    total: numberOrNull(total_tokens),
    ...detailsIn(input_tokens_details, PROMPT_DETAILS),
    ...detailsIn(output_tokens_details, COMPLETION_DETAILS),
  };
  const tools = mostToolUnits(mostToolUnits(unitsOfItems(objectsOf(items)), before), toolUnitsIn(reported));
  const units = { ...countedUnits(counts), ...tools };
  const bound = (contextLength ?? UNBOUNDED_TOKENS) * turnsOf(units);
  const usage = reportedUsage(counts, bound);
  if (usage === null) return null;
  return { usage, ...(Object.keys(units).length > 0 && { units }) };
}

interface ResponseUsage {
  readonly usage: Usage;
  readonly units?: BilledUnits;
}

function numberOrNull(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}
