import { compactionsOfMessage, compactionsOfResponse } from './compaction';

const COMPACTIONS = { responses: compactionsOfResponse, messages: compactionsOfMessage };

describe('the compaction that a request may lead to', () => {
  it.each([
    ['messages', { edits: [{ type: 'compact_20260112' }] }, { tokensWritten: 20_000, leastContext: 30_000 }],
    ['messages', { edits: [{ type: 'compact_20260112', instructions: '' }] }, { tokensWritten: 128_000 }],
    ['responses', [{ type: 'compaction', compact_threshold: 1_000 }], { tokensWritten: 20_000 }],
  ] as const)('of %s with %j is one more reading, and a summary', (api, context_management, expected) => {
    const once = { tools: [], uses: 1, turns: 1, tokensPerUse: 0 };
    expect(COMPACTIONS[api]({ context_management })).toMatchObject([{ ...once, ...expected }]);
  });

  it.each([
    ['messages', { edits: [{ type: 'clear_tool_uses_20250919' }] }],
    ['messages', { edits: null }],
    ['responses', 'compaction'],
    ['responses', null],
  ] as const)('of %s with %j is none', (api, context_management) => {
    expect(COMPACTIONS[api]({ context_management })).toEqual([]);
  });
});
