import type { Call, Reply } from '../http/reply';
import { decimalOf, type Item } from './charge';
import type { BookedCell, ChargeBook } from './charge-book';
import { reportPage, type ReportShape } from './report-page';

const KEY_ID = 'apikey_sandbox';
const CENTS = 2;

const SHAPE: ReportShape = {
  startParameter: 'starting_at',
  endParameter: 'ending_at',
  maximumDays: 31,
  readTime: (text) => Date.parse(text),
  bucket: (startMs, endMs, results) => ({ starting_at: timeText(startMs), ending_at: timeText(endMs), results }),
  members: {},
};

const TOKEN_TYPES: readonly (readonly [Item, string, string])[] = [
  ['uncached_input_tokens', 'uncached_input_tokens', 'Input Tokens'],
  ['cache_read_input_tokens', 'cache_read_input_tokens', 'Input Tokens, Cache Read'],
  ['cache_write_5m_tokens', 'cache_creation.ephemeral_5m_input_tokens', 'Input Tokens, Cache Write'],
  ['cache_write_1h_tokens', 'cache_creation.ephemeral_1h_input_tokens', 'Input Tokens, Cache Write 1h'],
  ['output_tokens', 'output_tokens', 'Output Tokens'],
];

/** `/v1/organizations/usage_report/messages` and `/v1/organizations/cost_report`, always in the finest groups. */
export class AnthropicReports {
  constructor(private readonly book: ChargeBook) {}

  usage(call: Call): Reply {
    const cells = this.book.of('anthropic');
    return reportPage(call, SHAPE, (day) =>
      cells.filter((cell) => cell.day === day && Object.values(cell.counts).some((count) => count > 0)).map(usageOf),
    );
  }

  costs(call: Call): Reply {
    const cells = this.book.of('anthropic');
    return reportPage(call, SHAPE, (day) => cells.filter((cell) => cell.day === day).flatMap(costsOf));
  }
}

function usageOf({ model, tier, isBatch, isLong, key = KEY_ID, counts }: BookedCell): object {
  return {
    api_key_id: key,
    workspace_id: null,
    model,
    service_tier: isBatch ? 'batch' : tierName(tier),
    context_window: windowOf(isLong),
    uncached_input_tokens: counts.uncached_input_tokens,
    cache_read_input_tokens: counts.cache_read_input_tokens,
    cache_creation: {
      ephemeral_5m_input_tokens: counts.cache_write_5m_tokens,
      ephemeral_1h_input_tokens: counts.cache_write_1h_tokens,
    },
    output_tokens: counts.output_tokens,
    server_tool_use: { web_search_requests: 0 },
  };
}

function costsOf({ model, tier, isBatch, isLong, amounts }: BookedCell): object[] {
  const ofTokens = {
    model,
    cost_type: 'tokens',
    context_window: windowOf(isLong),
    service_tier: isBatch ? 'batch' : tierName(tier),
  };
  const none = { cost_type: null, context_window: null, service_tier: null, token_type: null };
  const lines: (readonly [bigint, object])[] = [
    ...TOKEN_TYPES.map(([item, type, words]): readonly [bigint, object] => [
      amounts[item],
      { ...ofTokens, token_type: type, description: `${model} Usage - ${words}` },
    ]),
    [amounts.web_search, { ...none, model: null, cost_type: 'web_search', description: 'Web Search Usage' }],
    [amounts.other, { ...none, model, description: `${model} Surcharge` }],
  ];
  return lines
    .filter(([amount]) => amount !== 0n)
    .map(([amount, members]) => ({
      currency: 'USD',
      amount: decimalOf(amount, CENTS),
      workspace_id: null,
      ...members,
    }));
}

function tierName(tier: string): string {
  return tier === 'default' ? 'standard' : tier;
}

function windowOf(isLong: boolean): string {
  return isLong ? '200k-1M' : '0-200k';
}

function timeText(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 19)}Z`;
}
