import type { DayRange } from '@libs/persistence';
import type { ChargeReport, ReportedCost, ReportedUsage } from './charge-facts';
import { tierOf } from './price-book';
import type { JsonObject, ReportClient, ReportDialect } from './report-client';
import { ReportFields } from './report-fields';
import { unixSeconds } from './report-days';
import { NO_TOKENS, type TokenClass } from './token-counts';

export const OPENAI_REPORTS: ReportDialect = {
  startMember: 'start_time',
  headers: (key) => ({ authorization: `Bearer ${key}` }),
};

const COMPLETIONS = '/organization/usage/completions';
const EMBEDDINGS = '/organization/usage/embeddings';
const COSTS = '/organization/costs';
const USAGE_DAYS = '31';
const COST_DAYS = '180';

/** Reads what OpenAI counted and charged. @param project only what this project was charged */
export async function readOpenaiReport(
  client: ReportClient,
  days: DayRange,
  project: string | undefined,
): Promise<ChargeReport> {
  const range = { start_time: unixSeconds(days.from), end_time: unixSeconds(days.to, 1), bucket_width: '1d' };
  const common = { ...range, project_ids: project };
  const groups = ['model', 'api_key_id'];
  const completions = await client.buckets({
    path: COMPLETIONS,
    parameters: { ...common, limit: USAGE_DAYS, group_by: [...groups, 'batch', 'service_tier'] },
  });
  const embeddings = await client.buckets({
    path: EMBEDDINGS,
    parameters: { ...common, limit: USAGE_DAYS, group_by: groups },
  });
  const costs = await client.buckets({
    path: COSTS,
    parameters: { ...common, limit: COST_DAYS, group_by: 'line_item' },
  });
  const usageFields = new ReportFields(COMPLETIONS);
  const costFields = new ReportFields(COSTS);
  return {
    usage: [...completions, ...embeddings].flatMap(({ start, results }) =>
      results.map((result) => usageOf(usageFields.day(start), result, usageFields)),
    ),
    costs: costs.flatMap(({ start, results }) =>
      results.map((result) => costOf(costFields.day(start), result, costFields)),
    ),
  };
}

function usageOf(day: string, result: JsonObject, fields: ReportFields): ReportedUsage {
  const cached = fields.count(result, 'input_cached_tokens');
  const tier = fields.text(result, 'service_tier');
  return {
    day,
    model: fields.text(result, 'model') ?? '',
    key: fields.text(result, 'api_key_id'),
    tier: tier === 'batch' ? 'standard' : tierOf(tier),
    isLong: null,
    isBatch: result['batch'] === true || tier === 'batch',
    requests: fields.count(result, 'num_model_requests'),
    tokens: {
      ...NO_TOKENS,
      uncached: fields.count(result, 'input_tokens') - cached,
      cached,
      output: fields.count(result, 'output_tokens'),
    },
  };
}

/** Names of report lines, such as `gpt-4o-2024-08-06, cached input`. */
const CLASSES: Readonly<Record<string, TokenClass>> = {
  input: 'uncached',
  'cached input': 'cached',
  output: 'output',
};

const TOOLS: readonly (readonly [RegExp, string])[] = [
  [/^web search preview/i, 'web_search_preview'],
  [/^web search/i, 'web_search'],
  [/^file search/i, 'file_search'],
  [/^code interpreter/i, 'code_interpreter'],
];

function costOf(day: string, result: JsonObject, fields: ReportFields): ReportedCost {
  const amount = fields.object(result, 'amount');
  fields.inDollars(amount['currency']);
  const item = fields.text(result, 'line_item') ?? 'charges without a line item';
  const tool = TOOLS.find(([name]) => name.test(item))?.[1] ?? null;
  const comma = item.lastIndexOf(', ');
  const tokenClass = comma < 0 ? null : (CLASSES[item.slice(comma + 2).toLowerCase()] ?? null);
  const model = (comma < 0 ? item : item.slice(0, comma)).replace(/ batch$/i, '');
  const isModel = tool === null && /^[\w.:/-]+$/.test(model);
  return {
    day,
    model: isModel ? model : null,
    item,
    tokenClass,
    key: fields.text(result, 'api_key_id'),
    tool,
    amount: fields.amount(amount, 'value'),
  };
}
