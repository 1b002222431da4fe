import { keepsFiles, providerToolsIn, toolOfItem, toolOfType, toolsIn, toolsSentIn } from './provider-tools';

describe(toolOfType.name, () => {
  it.each([
    ['web_search', 'web_search'],
    ['web_search_preview_2025_03_11', 'web_search_preview'],
    ['web_search_20250305', 'web_search'],
    ['code_interpreter', 'code_interpreter'],
    ['code_execution_20250825', 'code_interpreter'],
    ['computer_use_preview', 'computer_use'],
    ['computer_20250124', 'computer_use'],
    ['image_generation', 'image_generation'],
    ['mcp', 'mcp'],
    ['mcp_toolset', 'mcp'],
    ['x_search', 'x_search'],
    ['what_comes_next_20270101', 'what_comes_next'],
    [' CODE_Interpreter', 'code_interpreter'],
    ['web-search', 'web_search'],
  ])('takes %s for %s', (type, tool) => {
    expect(toolOfType(type)).toBe(tool);
  });

  it.each(['function', 'custom', 'local_shell', 'bash_20250124', 'text_editor_20250728', 'sluice:web_search'])(
    'knows that no provider runs %s',
    (type) => {
      expect(toolOfType(type)).toBeNull();
    },
  );
});

describe(toolOfItem.name, () => {
  it.each([
    ['file_search_call', 'file_search'],
    ['computer_call', 'computer_use'],
    ['mcp_call', 'mcp'],
    ['function_call', null],
    ['custom_tool_call', null],
    ['local_shell_call', null],
    ['message', null],
    ['mcp_list_tools', null],
    ['file_search_call_output', null],
  ])('takes an item %s for %s', (type, tool) => {
    expect(toolOfItem(type)).toBe(tool);
  });
});

describe(providerToolsIn.name, () => {
  it('names each tool of a request once', () => {
    const tools = [
      { type: 'file_search' },
      { type: 'function', name: 'f' },
      { type: 'web_search_20250305' },
      { type: 'web_search' },
      { name: 'of no type' },
    ];
    expect(providerToolsIn({ tools, mcp_servers: [{ url: 'https://a.test' }] })).toEqual([
      'file_search',
      'web_search',
      'mcp',
    ]);
    expect(providerToolsIn({ tools: tools.slice(1), web_search_options: {} })).toEqual(['web_search']);
    const bodies = [{}, null, { tools: null }, { web_search_options: null }, { tools: [], mcp_servers: [] }];
    for (const body of [...bodies, { tools: 'web_search' }]) {
      expect(providerToolsIn(body)).toEqual([]);
    }
  });
});

describe(toolsSentIn.name, () => {
  const isOurs = (type: string): boolean => type.startsWith('sluice:');

  it('takes only the exact names of tools that the caller runs for these: others are not looked into', () => {
    for (const type of ['Namespace', ' namespace', 'FUNCTION', 'tool-search']) {
      const tools = [{ type, tools: [{ type: 'web_search' }] }];
      expect(toolsSentIn({ tools }, isOurs)).toEqual([expect.objectContaining({ member: 'tools[0]' })]);
    }
    for (const type of ['namespace', 'function', 'tool_search', 'bash_20250124']) {
      expect(toolsSentIn({ tools: [{ type }] }, isOurs)).toEqual([]);
    }
  });

  it('names each tool that a provider is sent, and where', () => {
    const body = {
      tools: [{ type: 'function' }, 5, { type: 'Mcp' }, { type: 'sluice:datetime' }, { type: 'other:search' }],
      input: [
        'x',
        { type: 'additional_tools', tools: [{ type: 'shell' }] },
        { type: 'tool_search_output', tools: [{ type: 'mcp' }] },
      ],
      mcp_servers: { a: { url: 'https://a.test' } },
      web_search_options: {},
    };
    expect(toolsSentIn(body, isOurs)).toEqual([
      { tool: 'mcp', member: 'tools[2]' },
      { tool: 'other:search', member: 'tools[4]' },
      { tool: 'shell', member: 'input[1].tools[0]' },
      { tool: 'mcp', member: 'input[2].tools[0]' },
      { tool: 'mcp', member: 'mcp_servers' },
      { tool: 'web_search', member: 'web_search_options' },
    ]);
    const sized = { type: 'code_interpreter', container: { type: 'auto', memory_limit: '64g' } };
    expect(toolsSentIn({ tools: [sized] }, isOurs)).toEqual([
      { tool: 'code_interpreter', member: 'tools[0]', dearerMember: 'tools[0].container.memory_limit' },
    ]);
    expect(toolsSentIn({ tools: null, mcp_servers: [], web_search_options: null }, isOurs)).toEqual([]);
  });
});

describe(keepsFiles.name, () => {
  it.each(['code_interpreter', 'file_search', 'shell'])('knows that a provider keeps the files of %s', (tool) => {
    expect(keepsFiles(tool)).toBe(true);
  });

  it.each(['web_search', 'image_generation', 'mcp'])('knows of no files of %s', (tool) => {
    expect(keepsFiles(tool)).toBe(false);
  });
});

describe(toolsIn.name, () => {
  it.each<[object, readonly string[]]>([
    [{}, []],
    [{ input: 'x', tools: [] }, []],
    [{ input: [{ type: 'message', tools: [{ type: 'mcp' }] }, 'x', 5, null] }, []],
    [
      {
        tools: [{ type: 'mcp' }],
        input: [
          { type: 'additional_tools', tools: [{ type: 'code_interpreter' }, { type: 'web_search_2025_08_26' }] },
          { type: 'additional_tools', tools: [{ type: 'function', name: 'f' }, { type: 'sluice:datetime' }] },
        ],
      },
      ['mcp', 'code_interpreter', 'web_search', 'datetime'],
    ],
    [{ tools: [{ type: 'function', name: 'f' }] }, []],
    [
      { tools: [{ type: 'sluice:image_generation' }, { type: 'web_search_preview' }] },
      ['web_search', 'image_generation'],
    ],
    [{ plugins: [{ id: 'web' }, { id: 'web-fetch', enabled: false }, { id: 'moderation' }] }, ['web_search']],
    [{ plugins: [{ id: 'constructor' }, { id: '__proto__' }] }, []],
    [{ model: 'acme/large:online' }, ['web_search']],
    [{ model: 'acme/large', models: ['acme/small:online'] }, ['web_search']],
    [{ web_search_options: {} }, ['web_search']],
  ])('finds in %j %j', (body, tools) => {
    expect(toolsIn(body)).toEqual(tools);
  });
});
