import { BatchLineRules, type BatchRoute } from './batch-line-rules';

const ROUTE: BatchRoute = {
  api: 'responses',
  rules: {},
  isNative: true,
  serviceName: 'sluice',
  allowsTool: (tool) => tool === 'web_search',
  isOwnKey: false,
};

const problemOf = (body: object, route: Partial<BatchRoute> = {}): string | null =>
  BatchLineRules.findLinkProblem(body as Record<string, unknown>) ??
  new BatchLineRules({ ...ROUTE, ...route }).findProblem(body as Record<string, unknown>);

describe(BatchLineRules.name, () => {
  const user = { role: 'user', content: 'Hi' };
  const later = (...tools: object[]): object => ({ input: [user, { type: 'additional_tools', tools }] });

  it('needs a price for tools that come later in the input too', () => {
    const body = later({ type: 'web_search' }, { type: 'code_interpreter' });
    expect(problemOf(body)).toMatch(/^input\[1\]\.tools\[1\] \(code_interpreter\) has no price here/);
    expect(problemOf(body, { allowsTool: () => true })).toBeNull();
  });

  it('takes a setting of a tool that costs more than its price only with an own key', () => {
    const body = later({ type: 'code_interpreter', container: { type: 'auto', memory_limit: '64g' } });
    const allowsTool = (): boolean => true;
    expect(problemOf(body, { allowsTool })).toMatch(/^input\[1\]\.tools\[0\]\.container\.memory_limit costs more/);
    expect(problemOf(body, { allowsTool, isOwnKey: true })).toBeNull();
  });

  it('runs no tools of the gateway that come later', () => {
    expect(problemOf(later({ type: 'sluice:datetime' }))).toMatch(
      /^input\[1\]\.tools\[0\] \(sluice:datetime\) is run by the gateway/,
    );
  });

  it('takes namespaces at a provider without the API, whose tools become functions there', () => {
    const named = { type: 'namespace', name: 'agents', tools: [{ type: 'function', name: 'spawn' }] };
    for (const body of [{ input: 'Hi', tools: [named] }, later(named)]) {
      expect(problemOf(body, { isNative: false })).toBeNull();
      expect(problemOf(body, { isNative: false, api: 'chat' })).toContain('is no function');
    }
  });

  it('takes a stored prompt only at a provider that has the API: elsewhere it would be left out', () => {
    const body = { input: 'Hi', prompt: { id: 'pmpt_1' } };
    expect(problemOf(body, { isOwnKey: true })).toBeNull();
    expect(problemOf(body, { isOwnKey: true, isNative: false })).toMatch(/^prompt cannot be used/);
  });

  it('refuses a private link, wherever it stands, with any key', () => {
    const body = { input: [{ type: 'mcp_call', page: { url: 'http://localhost/x' } }] };
    for (const isOwnKey of [false, true]) {
      expect(problemOf(body, { isOwnKey })).toBe('input[0].page.url must be on a public host');
    }
  });

  it("takes what lies in the provider's account only with an own key", () => {
    const body = { input: 'Hi', data_sources: [{ type: 'azure_search' }] };
    expect(problemOf(body)).toMatch(/^data_sources names something in the account of the provider/);
    expect(problemOf(body, { isOwnKey: true })).toBeNull();
  });

  it.each([
    [{ tools: [{ type: 'x_search' }] }, 'tools[0] (x_search) has no price here'],
    [{ tools: [{ type: 'builtin_function' }] }, 'tools[0] (builtin_function) cannot be charged'],
    [{ tools: [{ type: 'other:search' }] }, 'tools[0] (other:search) cannot be charged'],
    [{ web_search_options: {} }, 'web_search_options has no price here'],
    [{ mcp_servers: [{ url: 'https://a.test' }] }, 'mcp_servers cannot be used in a batch'],
  ])('takes no tool of a provider on chat completions that cannot be charged: %j', (members, problem) => {
    const body = { messages: [user], ...members };
    const route = { api: 'chat', rules: { takesSearchOptions: true } } as const;
    expect(problemOf(body, { ...route, allowsTool: () => false })).toContain(problem);
  });

  it('takes searches of chat completions that can be charged', () => {
    const route = { api: 'chat', rules: { takesSearchOptions: true } } as const;
    expect(problemOf({ messages: [user], web_search_options: {} }, route)).toBeNull();
  });

  it('takes no prediction, whose rejected tokens are charged', () => {
    const body = { messages: [user], prediction: { type: 'content', content: 'Hi' } };
    expect(problemOf(body, { api: 'chat' })).toBe('prediction cannot be used in a batch');
  });
});
