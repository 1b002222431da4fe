import { formatUsd, parseUsd } from '@libs/inference';
import type { RecordedTool, ReportedCost } from './charge-facts';
import { compareCharges } from './compare-charges';
import { compareTools } from './compare-tools';
import { bookOfSpec, DAY, MODEL, recordedUsage, reportedCost, reportedUsage } from './testing/facts';

const options = { book: bookOfSpec(), rounding: 500_000n };

const charged = (tool: string, usd: string, values: Partial<ReportedCost> = {}): ReportedCost =>
  reportedCost(usd, { model: null, tool, item: tool, ...values });
const recorded = (tool: string | null, usd: string, values: Partial<RecordedTool> = {}): RecordedTool => ({
  day: DAY,
  model: MODEL,
  tool,
  cost: parseUsd(usd),
  ...values,
});

function compare(costs: readonly ReportedCost[], tools: readonly RecordedTool[]): string[] {
  return compareTools(costs, { usage: [recordedUsage()], unpaid: [], tools }, options).map(
    ({ model, cause, amount, detail }) => `${model} ${cause} ${formatUsd(amount)} ${detail}`,
  );
}

describe(compareTools.name, () => {
  it('finds nothing where each tool cost what was recorded', () => {
    expect(
      compare(
        [charged('web_search', '0.02'), charged('mcp', '1')],
        [recorded('web_search', '0.02'), recorded('mcp', '1')],
      ),
    ).toEqual([]);
  });

  it('finds differences of two tools that cancel each other', () => {
    expect(compare([charged('web_search', '0.02')], [recorded('file_search', '0.02')])).toEqual([
      '- tool_use -0.02 -8 file_search at 0.0025 USD',
      '- tool_use 0.02 +2 web_search at 0.01 USD',
    ]);
  });

  it('gives each tool a cause of its own', () => {
    const tools = [recorded('web_search', '0.02'), recorded('file_search', '0.005')];
    expect(compare([charged('web_search', '0.05'), charged('file_search', '0.0061')], tools)).toEqual([
      '- unknown 0.0011 no number of uses of file_search costs this',
      '- tool_use 0.03 +3 web_search at 0.01 USD',
    ]);
    expect(
      compare([charged('web_search', '0.02'), charged('dreaming', '1')], [recorded('web_search', '0.02')]),
    ).toEqual(['- unknown 1 the catalogue has no price for dreaming']);
  });

  it('sees uses of a tool that models have several prices for', () => {
    const tools = [recorded('code_interpreter', '0.06')];
    expect(compare([charged('code_interpreter', '0.06')], tools)).toEqual([]);
    expect(compare([charged('code_interpreter', '0.09')], tools)).toEqual([
      '- tool_use 0.03 +1 code_interpreter at 0.03 USD',
    ]);
    expect(compare([charged('code_interpreter', '0.16')], tools)).toEqual([
      '- tool_use 0.1 +2 code_interpreter at 0.05 USD',
    ]);
    expect(compare([charged('code_interpreter', '0.21')], tools)).toEqual([
      '- tool_use 0.15 +5 code_interpreter at 0.03 USD or +3 code_interpreter at 0.05 USD',
    ]);
  });

  it('knows a tool by each name that providers have for it', () => {
    expect(compare([charged('code_execution', '0.03')], [recorded('code_interpreter', '0.03')])).toEqual([]);
    expect(compare([charged('web_search_20250305', '0.03')], [recorded('web_search', '0.03')])).toEqual([]);
  });

  it('compares models apart where the report names them', () => {
    const tools = [recorded('web_search', '0.02'), recorded('web_search', '0.03', { model: 'small-1' })];
    const named = (model: string, usd: string) => charged('web_search', usd, { model });
    expect(compare([named(`${MODEL}-2026-04-14`, '0.02'), named('small-1', '0.03')], tools)).toEqual([]);
    expect(compare([named(MODEL, '0.03'), named('small-1', '0.02')], tools)).toEqual([
      'large-1 tool_use 0.01 +1 web_search at 0.01 USD',
      'small-1 tool_use -0.01 -1 web_search at 0.01 USD',
    ]);
    expect(compare([named(MODEL, '0.02'), charged('web_search', '0.03')], tools)).toEqual([]);
  });

  it('compares the sum of a day whose record does not say which tools ran', () => {
    const tools = [recorded(null, '0.02'), recorded('file_search', '0.0025')];
    expect(compare([charged('web_search', '0.02'), charged('file_search', '0.0025')], tools)).toEqual([]);
    expect(compare([charged('web_search', '0.03'), charged('file_search', '0.0025')], tools)).toEqual([
      '- unknown 0.01 the record does not say which of file_search, web_search ran',
    ]);
    expect(compare([charged('web_search', '0.03')], [recorded(null, '0.02')])).toEqual([
      '- tool_use 0.01 +1 web_search at 0.01 USD',
    ]);
  });

  it('finds nothing in batch items with tools on which both sides agree', () => {
    const report = { usage: [reportedUsage()], costs: [reportedCost('3'), charged('code_interpreter', '0.06')] };
    const usage = [recordedUsage({ cost: parseUsd('3.06'), toolCost: parseUsd('0.06') })];
    const tools = [recorded('code_interpreter', '0.06')];
    expect(compareCharges(report, { usage, unpaid: [], tools }, options)).toEqual([]);
  });
});
