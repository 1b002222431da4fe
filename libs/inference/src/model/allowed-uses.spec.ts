import { capsOfTool, usesOfChat, usesOfMessage, usesOfResponse } from './allowed-uses';

const MCP = { type: 'mcp', server_label: 's', server_url: 'https://mcp.test' };
const fetchTool = { type: 'web_fetch_20250910', name: 'web_fetch' };
const searchTool = { type: 'web_search_20250305', name: 'web_search' };

const USES = { chat: usesOfChat, responses: usesOfResponse, messages: usesOfMessage };

/** As `uses x tokens / turns` of the tools. */
function allowed(api: keyof typeof USES, body: object): readonly string[] {
  return USES[api](body as Record<string, unknown>).map(({ tools, uses, turns, tokensPerUse }) => {
    const tokens = tokensPerUse === Number.MAX_SAFE_INTEGER ? 'context' : tokensPerUse;
    return `${tools!.join(' ')}: ${uses} x ${tokens} / ${turns}`;
  });
}

describe('the uses of tools that a provider may make', () => {
  it.each([
    ['no tools', {}, []],
    ['functions', { tools: [{ type: 'function', name: 'f' }] }, []],
    ['a search', { tools: [{ type: 'web_search' }] }, ['web_search: 5 x 8000 / 5']],
    [
      'searches in large',
      { tools: [{ type: 'web_search', search_context_size: 'high' }] },
      ['web_search: 5 x 16000 / 5'],
    ],
    ['pieces', { tools: [{ type: 'file_search', max_num_results: 50 }] }, ['file_search: 5 x 40000 / 5']],
    ['a cap below ours', { tools: [{ type: 'web_search' }], max_tool_calls: 1 }, ['web_search: 1 x 8000 / 1']],
    ['a cap above ours', { tools: [{ type: 'web_search' }], max_tool_calls: 30 }, ['web_search: 30 x 8000 / 30']],
    ['an absurd cap', { tools: [{ type: 'web_search' }], max_tool_calls: 1e9 }, ['web_search: 100 x 8000 / 100']],
    ['a cap of null', { tools: [{ type: 'web_search' }], max_tool_calls: null }, ['web_search: 5 x 8000 / 5']],
    [
      'a cap that conditions replace',
      { tools: [{ type: 'web_search' }], max_tool_calls: 1, stop_server_tools_when: [] },
      ['web_search: 5 x 8000 / 5'],
    ],
    [
      'tools that share a cap',
      { tools: [{ type: 'web_search' }, { type: 'code_interpreter' }, { type: 'image_generation' }] },
      ['web_search code_interpreter image_generation: 5 x 16000 / 5'],
    ],
    [
      'tools that come later',
      { input: [{ type: 'additional_tools', tools: [{ type: 'shell' }] }], max_tool_calls: 2 },
      ['shell: 2 x 16000 / 2'],
    ],
    [
      'an MCP server, which the cap may not bind',
      { tools: [{ type: 'web_search' }, MCP], max_tool_calls: 3 },
      ['web_search: 3 x 8000 / 3', 'mcp: 3 x context / 3'],
    ],
    ['what the caller runs', { tools: [{ type: 'computer_use_preview' }] }, ['computer_use: 5 x 0 / 0']],
    ['an unknown tool', { tools: [{ type: '__proto__' }] }, ['__proto__: 5 x 16000 / 5']],
  ])('on responses: %s', (_name, body, expected) => {
    expect(allowed('responses', body)).toEqual(expected);
  });

  it.each([
    ['a search', { tools: [searchTool] }, ['web_search: 5 x 8000 / 6']],
    ['its own cap', { tools: [{ ...searchTool, max_uses: 20 }] }, ['web_search: 20 x 8000 / 21']],
    ['a cap of the loop', { tools: [searchTool], max_tool_calls: 1 }, ['web_search: 5 x 8000 / 6']],
    [
      'each tool for itself',
      {
        tools: [
          { ...searchTool, max_uses: 2 },
          { ...fetchTool, max_uses: 3, max_content_tokens: 50_000 },
        ],
      },
      ['web_search: 2 x 8000 / 3', 'web_fetch: 3 x 50000 / 4'],
    ],
    [
      'fewer of each where there are several',
      { tools: [searchTool, fetchTool, { type: 'code_execution_20250825' }] },
      ['web_search: 3 x 8000 / 4', 'web_fetch: 3 x 10000 / 4', 'code_interpreter: 10 x 16000 / 10'],
    ],
    [
      'a tool that is named twice',
      { tools: [searchTool, searchTool] },
      ['web_search: 5 x 8000 / 6', 'web_search: 5 x 8000 / 6'],
    ],
    ['tools without a cap', { tools: [{ type: 'code_execution_20250825' }] }, ['code_interpreter: 10 x 16000 / 10']],
    ['MCP servers', { mcp_servers: [{ url: 'x' }] }, ['mcp: 10 x context / 10']],
    [
      'the tools of a caller',
      {
        tools: [
          { type: 'bash_20250124', name: 'bash' },
          { name: 'f', input_schema: {} },
        ],
      },
      [],
    ],
  ])('on messages: %s', (_name, body, expected) => {
    expect(allowed('messages', body)).toEqual(expected);
  });

  it.each([
    ['a search', { web_search_options: {} }, ['web_search: 30 x 1200 / 0']],
    ['another tool', { tools: [{ type: 'code_interpreter' }] }, ['code_interpreter: 5 x 16000 / 5']],
    ['the cap of the loop', { web_search_options: {}, max_tool_calls: 1 }, ['web_search: 30 x 1200 / 0']],
  ])('on chat completions: %s', (_name, body, expected) => {
    expect(allowed('chat', body)).toEqual(expected);
  });

  it.each([0, -1, 1.5, '20', null, true, Number.NaN])('does not take %p for a cap', (cap) => {
    expect(allowed('messages', { tools: [{ ...searchTool, max_uses: cap }] })).toEqual(['web_search: 5 x 8000 / 6']);
    const response = { tools: [{ type: 'web_search' }], max_tool_calls: cap };
    expect(allowed('responses', response)).toEqual(['web_search: 5 x 8000 / 5']);
  });

  it('reads a hundred thousand invented tools', () => {
    const tools = Array.from({ length: 100_000 }, (_, at) => ({ type: `tool_${at}` }));
    expect(usesOfResponse({ tools })[0]!.tools).toHaveLength(100_000);
    expect(usesOfMessage({ tools })).toHaveLength(100_000);
  });
});

describe(capsOfTool.name, () => {
  it.each([
    [searchTool, { max_uses: 5 }],
    [{ ...searchTool, max_uses: 7 }, { max_uses: 7 }],
    [{ ...searchTool, max_uses: 1_000 }, { max_uses: 100 }],
    [fetchTool, { max_uses: 5, max_content_tokens: 10_000 }],
    [
      { ...fetchTool, max_uses: 1, max_content_tokens: 90_000 },
      { max_uses: 1, max_content_tokens: 90_000 },
    ],
    [{ type: 'advisor_20260301', name: 'advisor' }, { max_uses: 5 }],
    [{ type: 'code_execution_20250825', name: 'code_execution' }, {}],
    [{ type: 'bash_20250124', name: 'bash' }, {}],
    [{ name: 'f', input_schema: {} }, {}],
  ])('says of %j: %j', (tool, caps) => {
    expect(capsOfTool(tool, 5)).toEqual(caps);
  });
});
