import { emptyUsage } from '../pricing/usage';
import { usageText } from './openai-usage';

describe(usageText.name, () => {
  const cost = { totalCost: 0n, promptCost: 0n, completionCost: 0n };
  const usage = emptyUsage('upstream');

  it('counts the tools of the gateway under both names of the interface', () => {
    const tools = { requested: 3, executed: 2, webSearches: 1, webFetches: 0, cost: 0n };
    const counts = { tool_calls_requested: 3, tool_calls_executed: 2, web_search_requests: 1 };
    expect(JSON.parse(usageText(usage, cost, true, tools))).toMatchObject({
      server_tool_use: counts,
      server_tool_use_details: counts,
    });
    expect(usageText(usage, cost, true)).not.toContain('server_tool_use');
  });
});
