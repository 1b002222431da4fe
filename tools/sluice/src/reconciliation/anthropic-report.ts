import type { DayRange } from '@libs/persistence';
import type { ChargeReport, ReportedCost, ReportedUsage } from './charge-facts';
import { tierOf } from './price-book';
import type { JsonObject, ReportClient, ReportDialect } from './report-client';
import { startOfDay } from './report-days';
import { ReportFields } from './report-fields';
import type { TokenClass } from './token-counts';

export const ANTHROPIC_REPORTS: ReportDialect = {
  startMember: 'starting_at',
  headers: (key) => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
};

const USAGE = '/organizations/usage_report/messages';
const COSTS = '/organizations/cost_report';
const DAYS = '31';
const CENTS = 2;

/**
 * Reads what Anthropic counted and charged. Its costs are in cents, and name workspaces but no keys.
 * @param workspace only what was charged to this workspace at Anthropic; `default` is the one without an id
 */
export async function readAnthropicReport(
  client: ReportClient,
  days: DayRange,
  workspace: string | undefined,
): Promise<ChargeReport> {
  const common = {
    starting_at: startOfDay(days.from),
    ending_at: startOfDay(days.to, 1),
    bucket_width: '1d',
    limit: DAYS,
  };
  const usage = await client.buckets({
    path: USAGE,
    parameters: {
      ...common,
      'group_by[]': ['model', 'api_key_id', 'workspace_id', 'service_tier', 'context_window'],
    },
  });
  const costs = await client.buckets({
    path: COSTS,
    parameters: { ...common, 'group_by[]': ['workspace_id', 'description'] },
  });
  const isWanted = (result: JsonObject): boolean =>
    workspace === undefined || (result['workspace_id'] ?? 'default') === workspace;
  const usageFields = new ReportFields(USAGE);
  const costFields = new ReportFields(COSTS);
  return {
    usage: usage.flatMap(({ start, results }) =>
      results.filter(isWanted).map((result) => usageOf(usageFields.day(start), result, usageFields)),
    ),
    costs: costs.flatMap(({ start, results }) =>
      results.filter(isWanted).map((result) => costOf(costFields.day(start), result, costFields)),
    ),
  };
}

function usageOf(day: string, result: JsonObject, fields: ReportFields): ReportedUsage {
  const writes = fields.object(result, 'cache_creation');
  const tier = fields.text(result, 'service_tier');
  return {
    day,
    model: fields.text(result, 'model') ?? '',
    key: fields.text(result, 'api_key_id'),
    tier: tier === 'batch' ? 'standard' : tierOf(tier),
    isLong: isLongWindow(fields.text(result, 'context_window')),
    isBatch: tier === 'batch',
    requests: null,
    tokens: {
      uncached: fields.count(result, 'uncached_input_tokens'),
      cached: fields.count(result, 'cache_read_input_tokens'),
      cacheWrite5m: fields.count(writes, 'ephemeral_5m_input_tokens'),
      cacheWrite1h: fields.count(writes, 'ephemeral_1h_input_tokens'),
      output: fields.count(result, 'output_tokens'),
    },
  };
}

/** Context windows are named by their bounds, such as `0-200k` and `200k-1M`. */
function isLongWindow(window: string | null): boolean {
  return window !== null && !window.startsWith('0-');
}

const CLASSES: Readonly<Record<string, TokenClass>> = {
  uncached_input_tokens: 'uncached',
  cache_read_input_tokens: 'cached',
  'cache_creation.ephemeral_5m_input_tokens': 'cacheWrite5m',
  'cache_creation.ephemeral_1h_input_tokens': 'cacheWrite1h',
  output_tokens: 'output',
};

const TOOLS: Readonly<Record<string, string>> = { web_search: 'web_search', code_execution: 'code_interpreter' };

function costOf(day: string, result: JsonObject, fields: ReportFields): ReportedCost {
  fields.inDollars(result['currency']);
  const type = fields.text(result, 'cost_type') ?? 'tokens';
  return {
    day,
    model: fields.text(result, 'model'),
    item: fields.text(result, 'description') ?? 'charges without a description',
    tokenClass: CLASSES[fields.text(result, 'token_type') ?? ''] ?? null,
    key: null,
    tool: TOOLS[type] ?? null,
    amount: fields.amount(result, 'amount', CENTS),
  };
}
