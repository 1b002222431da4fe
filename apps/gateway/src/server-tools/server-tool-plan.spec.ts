import type { StreamableApi } from '@libs/inference';
import { ParserPool } from '../parsers/parser-pool';
import { outsideWork } from '../parsers/testing/outside-work';
import { ServerToolPlanner, type NativeShare } from './server-tool-plan';
import { FakeTool } from './testing/fake-tool';
import { ToolSearchTool } from './tool-search.tool';

const FUNCTION = { type: 'function', name: 'theirs', description: 'Theirs.', parameters: { type: 'object' } };
const RARE = { ...FUNCTION, name: 'rare', description: 'Rarely used.', defer_loading: true };
const search = (): FakeTool => new FakeTool('web_search', undefined, {}, ['web_search', 'web_search_preview']);

interface Asked {
  readonly api?: StreamableApi;
  readonly isNative?: boolean;
  readonly share?: NativeShare;
  readonly tools?: readonly (FakeTool | ToolSearchTool)[];
}

function plan(
  body: object,
  { api = 'responses', isNative = false, share, tools = [search(), new FakeTool('look')] }: Asked = {},
) {
  const nativeShare = () => share ?? (isNative ? 'all' : 'none');
  const planner = new ServerToolPlanner({ serviceName: 'sluice', tools, nativeShare, isNative: () => false });
  const said = api === 'responses' ? { input: 'Hi' } : { messages: [{ role: 'user', content: 'Hi' }] };
  return planner.plan(api, { ...said, ...body }, ['some/model']);
}

/** The functions that the model sees. */
const seen = (...args: Parameters<typeof plan>) => plan(...args)!.conversation.tools.map(({ name }) => name);

describe(ServerToolPlanner.name, () => {
  it.each([
    {},
    { tools: [] },
    { tools: [FUNCTION, { type: 'custom', name: 'free' }] },
    { tools: [RARE] },
    { tools: [FUNCTION], deferred_tools: { search: { type: 'bm25' } } },
  ])('leaves %j to the engine', (body) => {
    expect(plan(body)).toBeNull();
  });

  it.each(['chat', 'messages'] as const)('bears any input on %s, where it is no member', (api) => {
    for (const input of [[null], ['x'], [[]], 5]) expect(plan({ input }, { api })).toBeNull();
  });

  it('puts functions in the place of its tools, behind those of the caller', () => {
    expect(seen({ tools: [{ type: 'sluice:look' }, FUNCTION] })).toEqual(['theirs', 'look']);
    const chat = { type: 'function', function: { name: 'theirs' } };
    expect(seen({ tools: [{ type: 'sluice:look' }, chat] }, { api: 'chat' })).toEqual(['theirs', 'look']);
    const message = { name: 'theirs', input_schema: { type: 'object' } };
    expect(seen({ max_tokens: 5, tools: [{ type: 'sluice:look' }, message] }, { api: 'messages' })).toEqual([
      'theirs',
      'look',
    ]);
  });

  it('gives its function another name where the caller has one like it', () => {
    const named = plan({ tools: [{ type: 'sluice:look' }, { ...FUNCTION, name: 'look' }] })!;
    expect(named.conversation.tools.map(({ name }) => name)).toEqual(['look', 'sluice_look']);
    expect(named.tools.get('sluice_look')).toMatchObject({ name: 'look', itemType: 'sluice:look' });
  });

  it('sets its tools up with what the request says, wherever it says so', () => {
    const web = search();
    plan({ tools: [{ type: 'sluice:web_search', parameters: { max_results: 3 } }] }, { tools: [web] });
    const filters = { allowed_domains: ['a.example'], blocked_domains: ['b.example'] };
    plan(
      { tools: [FUNCTION, { type: 'web_search_preview', max_uses: 2, user_location: null, filters }] },
      { tools: [web] },
    );
    expect(web.bindings).toEqual([
      { parameters: { max_results: 3 }, path: 'tools[0].parameters' },
      {
        parameters: { max_uses: 2, allowed_domains: ['a.example'], excluded_domains: ['b.example'] },
        path: 'tools[1]',
      },
    ]);
  });

  it('leaves a search under a plain name to a provider that speaks responses, unless the request says otherwise', () => {
    const isNative = true;
    expect(plan({ tools: [{ type: 'web_search' }] }, { isNative })).toBeNull();
    expect(plan({ tools: [{ type: 'web_search', engine: 'native' }, { type: 'mcp' }] }, { isNative })).toBeNull();
    expect(seen({ tools: [{ type: 'web_search', engine: 'exa' }] }, { isNative })).toEqual(['web_search']);
    expect(seen({ tools: [{ type: 'sluice:look' }, { type: 'web_search' }] }, { isNative })).toEqual([
      'look',
      'web_search',
    ]);
    expect(seen({ tools: [{ type: 'web_search' }] })).toEqual(['web_search']);
    const search20250305 = { max_tokens: 5, tools: [{ type: 'web_search_20250305' }] };
    expect(plan(search20250305, { api: 'messages', isNative })).toBeNull();
  });

  it('searches itself where only some endpoints could, if it has something to search with', () => {
    const share = 'some';
    expect(seen({ tools: [{ type: 'web_search' }] }, { share })).toEqual(['web_search']);
    expect(plan({ tools: [{ type: 'web_search', engine: 'native' }] }, { share })).toBeNull();
    const unable = Object.assign(search(), { isReady: false });
    expect(plan({ tools: [{ type: 'web_search' }] }, { share, tools: [unable] })).toBeNull();
  });

  it('leaves a tool of an unknown type to a provider that speaks the API', () => {
    expect(plan({ tools: [FUNCTION, { type: 'hologram' }] }, { share: 'some' })).toBeNull();
    expect(plan({ tools: [{ type: 'other:look' }] }, { isNative: true })).toBeNull();
  });

  it.each([
    [false, 'tools[1].type is hologram, a tool that no provider of the model runs'],
    [true, 'tools[1].type is hologram, a tool that cannot be used beside server tools'],
  ])('names the tool that it refuses, beside a tool of its own: %s', (hasOwn, message) => {
    const more = hasOwn ? [{ type: 'sluice:look' }] : [];
    const tools = [FUNCTION, { type: 'hologram' }, ...more];
    expect(() => plan({ tools }, { share: hasOwn ? 'some' : 'none' })).toThrow(message);
  });

  it('runs its tools that an item of the input brings', () => {
    const input = [
      { type: 'additional_tools', tools: [FUNCTION, { type: 'sluice:look' }] },
      { role: 'user', content: 'Hi' },
    ];
    expect(seen({ input })).toEqual(['theirs', 'look']);
  });

  describe('where nothing can search', () => {
    const idle = Object.assign(search(), { isReady: false, isOptional: true });
    const asked = { tools: [idle, new FakeTool('look')] };

    it('goes without a search that is offered plainly, and says so', () => {
      expect(plan({ tools: [FUNCTION, { type: 'web_search' }] }, asked)).toBeNull();
      const beside = plan({ tools: [FUNCTION, { type: 'web_search' }, { type: 'sluice:look' }] }, asked)!;
      expect(beside.conversation.tools.map(({ name }) => name)).toEqual(['theirs', 'look']);
      expect(beside.conversation.unread).toEqual(['tools.web_search']);
      const chat = plan({ tools: [{ type: 'web_search' }] }, { ...asked, api: 'chat' })!;
      expect(chat.conversation).toMatchObject({ tools: [], unread: ['tools.web_search'] });
      expect(idle.bindings).toEqual([]);
    });

    it.each([
      { tools: [{ type: 'sluice:web_search' }] },
      { tools: [{ type: 'web_search', engine: 'exa' }] },
      { tools: [FUNCTION, { type: 'web_search' }], tool_choice: { type: 'web_search' } },
      { tools: [{ type: 'web_search' }], tool_choice: 'required' },
      {
        tools: [FUNCTION, { type: 'web_search' }],
        tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'web_search' }] },
      },
    ])('does not go without the search of %j', (body) => {
      expect(seen(body, asked)).toContain('web_search');
    });

    it('does not go without the one tool that a chat completion may and must use', () => {
      const allowed = { mode: 'required', tools: [{ type: 'web_search' }] };
      const choice = { type: 'allowed_tools', allowed_tools: allowed };
      const body = { tools: [{ type: 'web_search' }], tool_choice: choice };
      expect(seen(body, { ...asked, api: 'chat' })).toContain('web_search');
    });
  });

  it('needs no endpoint with a price for a search that the request can do without and none sells', () => {
    const idle = Object.assign(search(), { isReady: false, isOptional: true });
    const needs = (body: object, sold: boolean) =>
      new ServerToolPlanner({
        serviceName: 'sluice',
        tools: [idle],
        nativeShare: (_models, _api, isMeant) => (isMeant === undefined || sold ? 'some' : 'none'),
        isNative: () => true,
      })
        .needsOf('responses', { input: 'Hi', ...body }, ['some/model'])
        .map(({ member }) => member);
    const offered = { tools: [FUNCTION, { type: 'web_search' }] };
    expect(needs(offered, false)).toEqual([]);
    expect(needs(offered, true)).toEqual(['tools', 'tools[1]']);
    expect(needs({ ...offered, tool_choice: { type: 'web_search' } }, false)).toEqual(['tools', 'tools[1]']);
    expect(needs({ tools: [{ type: 'web_search' }, { type: 'mcp' }] }, false)).toEqual(['tools', 'tools[1]']);
  });

  it('leaves no search on chat completions to a provider, whose API for them has none', () => {
    expect(seen({ tools: [{ type: 'web_search' }] }, { api: 'chat', isNative: true })).toEqual(['web_search']);
  });

  it.each([
    ['tools[1].type', { tools: [FUNCTION, { type: 'sluice:bash' }] }, false],
    ['tools[0].type', { tools: [{ type: 'file_search' }] }, false],
    ['tools[0].type', { tools: [{ type: 'hologram' }] }, false],
    ['tools[0].type', { tools: [{ type: 'other:look' }] }, false],
    [
      'input[0].tools[1].type',
      { input: [{ type: 'additional_tools', tools: [FUNCTION, { type: 'hologram' }] }] },
      false,
    ],
    ['tools[0].type', { tools: [{ type: 'mcp' }, { type: 'sluice:look' }] }, true],
    ['tools[1].parameters', { tools: [{ type: 'sluice:look' }, { type: 'sluice:look' }] }, false],
    ['n', { tools: [{ type: 'sluice:look' }], n: 2 }, false],
    ['deferred_tools.search.type', { tools: [RARE], deferred_tools: { search: { type: 'custom' } } }, false],
  ])('refuses %s of %j', (param, body, isNative) => {
    const asked = { isNative, tools: [new FakeTool('look'), new ToolSearchTool(new ParserPool())] };
    expect(() => plan(body, asked)).toThrow(expect.objectContaining({ code: 'invalid_request', metadata: { param } }));
  });

  it('takes types of any form in a choice of tools', () => {
    for (const text of ['{"toString":1}', '[{"toString":1}]', 'null', '1']) {
      const type: unknown = JSON.parse(text);
      const choice = { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'sluice:look' }, { type }] };
      for (const api of ['chat', 'responses'] as const) {
        const body = { tools: [{ type: 'sluice:look' }], tool_choice: choice };
        expect(seen(body, { api })).toEqual(['look']);
      }
    }
  });

  it('takes an n of any form on APIs that have none', () => {
    for (const text of ['{"toString":1}', '[{"toString":1}]', 'null', '"2"']) {
      expect(seen({ tools: [{ type: 'sluice:look' }], n: JSON.parse(text) as unknown })).toEqual(['look']);
    }
  });

  it('reads which tools may and must be used', () => {
    const tools = [FUNCTION, { type: 'sluice:look' }, { type: 'web_search' }];
    const choiceOf = (choice: unknown) => plan({ tools, tool_choice: choice })!.conversation.toolChoice;
    expect(choiceOf({ type: 'web_search_preview' })).toEqual({ type: 'tool', name: 'web_search' });
    expect(choiceOf({ type: 'function', name: 'theirs' })).toEqual({ type: 'tool', name: 'theirs' });
    expect(choiceOf('required')).toEqual({ type: 'required' });
    const allowed = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'sluice:look' }] };
    expect(plan({ tools, tool_choice: allowed })!.conversation).toMatchObject({
      tools: [{ name: 'look' }],
      toolChoice: { type: 'required' },
    });
  });

  it('reads on chat completions too which tools may be used', () => {
    const theirs = { type: 'function', function: { name: 'theirs' } };
    const body = { tools: [theirs, { type: 'sluice:look' }, { type: 'web_search' }] };
    const among = (...tools: object[]) => {
      const choice = { type: 'allowed_tools', allowed_tools: { mode: 'required', tools } };
      const {
        tools: offered,
        toolChoice,
        unread,
      } = plan({ ...body, tool_choice: choice }, { api: 'chat' })!.conversation;
      return [offered.map(({ name }) => name), toolChoice, unread];
    };
    expect(among({ type: 'sluice:look' })).toEqual([['look'], { type: 'required' }, []]);
    expect(among(theirs, { type: 'web_search' })).toEqual([['theirs', 'web_search'], { type: 'required' }, []]);
    expect(among(theirs)).toEqual([['theirs'], { type: 'required' }, []]);
  });

  describe('with deferred functions', () => {
    const deferral = { protocol: 'v1', profile: 'portable', search: { type: 'bm25' }, validation: 'runtime' };
    const parsers = new ParserPool();
    const withSearch = { tools: [new ToolSearchTool(parsers)] };
    afterAll(() => parsers.onApplicationShutdown());

    it.each([
      ['the tool', { tools: [FUNCTION, RARE, { type: 'sluice:tool_search' }] }],
      ['the protocol', { tools: [FUNCTION, RARE], deferred_tools: deferral }],
    ])('shows them to the model when %s has found them', async (_what, body) => {
      const deferred = plan(body, withSearch)!;
      expect(deferred.conversation.tools.map(({ name }) => name)).toEqual(['theirs', 'tool_search']);
      const outcome = await deferred.tools.get('tool_search')!.bound.run({ query: 'rarely' }, outsideWork() as never);
      expect(outcome.tools).toMatchObject([{ name: 'rare', description: 'Rarely used.' }]);
    });

    it('shows those at once that the conversation has used', () => {
      const input = [
        { type: 'message', role: 'user', content: 'Hi' },
        { type: 'function_call', call_id: 'a', name: 'rare', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a', output: 'ok' },
      ];
      expect(seen({ input, tools: [RARE], deferred_tools: deferral }, withSearch)).toEqual(['rare', 'tool_search']);
    });

    it('shows the one at once that the model must call', () => {
      const asked = { tools: [FUNCTION, RARE], deferred_tools: deferral };
      const choice = { type: 'function', name: 'rare' };
      expect(seen({ ...asked, tool_choice: choice }, withSearch)).toEqual(['theirs', 'rare', 'tool_search']);
    });
  });

  it('reads an earlier answer of its own even where no tool is asked for', () => {
    const input = [
      { type: 'sluice:web_search', id: 'ws_1', status: 'completed' },
      { type: 'message', role: 'user', content: 'And?' },
    ];
    expect(plan({ input }, { isNative: true })!.conversation.messages).toHaveLength(1);
  });
});
