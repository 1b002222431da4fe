import { Secret } from '@libs/contracts';
import { outsideWork } from '../parsers/testing/outside-work';
import type { ToolContext } from './server-tool';
import { SearchServer } from './testing/search-server';
import { WebSearch } from './web-search';
import { createSearchEngines } from './web-search-engines';
import { BraveEngine } from './web-search-engines/brave-engine';
import { ExaEngine } from './web-search-engines/exa-engine';
import type { SearchEngine } from './web-search-engines/search-engine';
import { SearxngEngine } from './web-search-engines/searxng-engine';
import { TavilyEngine } from './web-search-engines/tavily-engine';
import { WebSearchTool } from './web-search.tool';

const KEY = new Secret('search-key');
const COST = 4_000_000_000n;

describe(WebSearchTool.name, () => {
  let server: SearchServer;
  const context = (signal = new AbortController().signal): ToolContext =>
    ({ generationId: 'gen-1', ...outsideWork({ signal }) }) as unknown as ToolContext;

  beforeAll(async () => {
    server = await SearchServer.start();
  });
  afterAll(() => server.stop());
  beforeEach(() => {
    server.requests.length = 0;
  });

  const bound = (parameters: object, engines: readonly SearchEngine[] = [new SearxngEngine(server.url)]) =>
    new WebSearchTool(new WebSearch(engines, COST)).bind(parameters as Record<string, unknown>, 'tools[0].parameters');

  const results = (...urls: string[]) => ({
    results: urls.map((url) => ({ url, title: `T ${url}`, content: 'text' })),
  });

  it('gives the model what it can cite, the caller an item and the sources, and charges the search', async () => {
    server.answer = {
      results: [{ url: 'https://a.example/1', title: 'One', content: 'The first.', publishedDate: '2026-01-02' }],
    };
    expect(await bound({}).run({ query: 'what is new' }, context())).toEqual({
      parts: [{ type: 'text', text: '[1] One\nURL: https://a.example/1\nPublished: 2026-01-02\nThe first.' }],
      isError: false,
      search: { engine: 'searxng', results: 1 },
      item: {
        action: { type: 'search', query: 'what is new', sources: [{ type: 'url', url: 'https://a.example/1' }] },
      },
      sources: [{ type: 'url-citation', url: 'https://a.example/1', title: 'One', content: 'The first.' }],
      costPicoUsd: COST,
    });
    expect(server.requests[0]!.url.search).toBe('?q=what+is+new&format=json');
  });

  it('speaks to Exa', async () => {
    server.answer = { results: [{ url: 'https://a.example/', title: 'A', text: 'page', publishedDate: '2026' }] };
    const parameters = {
      engine: 'exa',
      mode: 'deep',
      max_results: 3,
      allowed_domains: ['a.example', '*.b.example/docs/'],
      excluded_domains: ['c.a.example'],
      search_context_size: 'high',
      user_location: { type: 'approximate', country: 'de', city: 'Bonn' },
    };
    const outcome = await bound(parameters, [new ExaEngine(KEY, server.url)]).run({ query: 'q' }, context());
    expect(outcome.isError).toBe(false);
    expect(server.requests[0]).toMatchObject({
      method: 'POST',
      headers: { 'x-api-key': 'search-key', 'content-type': 'application/json' },
      body: {
        query: 'q',
        type: 'deep',
        numResults: 3,
        contents: { text: { maxCharacters: 10_000 } },
        includeDomains: ['a.example', 'b.example/docs'],
        excludeDomains: ['c.a.example'],
        userLocation: 'DE',
      },
    });
    expect(server.requests[0]!.url.pathname).toBe('/search');
  });

  it('speaks to Tavily', async () => {
    server.answer = { results: [{ url: 'https://a.example/', title: 'A', content: 'page', score: 1 }] };
    const parameters = { mode: 'advanced', max_results: 25, user_location: { country: 'US' } };
    await bound(parameters, [new TavilyEngine(KEY, server.url)]).run({ query: 'q' }, context());
    expect(server.requests[0]).toMatchObject({
      method: 'POST',
      headers: { authorization: 'Bearer search-key' },
      body: { query: 'q', search_depth: 'advanced', max_results: 20, country: 'united states' },
    });
  });

  it('asks Tavily without a country that it does not know', async () => {
    let asked = 0;
    server.answer = (response) => {
      asked += 1;
      response.writeHead(asked === 1 ? 400 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(results('https://a.example/')));
    };
    const parameters = { user_location: { country: 'AQ' } };
    const outcome = await bound(parameters, [new TavilyEngine(KEY, server.url)]).run({ query: 'q' }, context());
    expect(outcome.sources).toHaveLength(1);
    expect(server.requests.map(({ body }) => (body as { country?: string }).country)).toEqual([
      'antarctica',
      undefined,
    ]);
  });

  it.each([
    [400, {}],
    [500, { user_location: { country: 'US' } }],
  ])('asks Tavily once where it answers %d to %j', async (status, parameters) => {
    server.answer = (response) => void response.writeHead(status).end();
    const outcome = await bound(parameters, [new TavilyEngine(KEY, server.url)]).run({ query: 'q' }, context());
    expect(outcome.isError).toBe(true);
    expect(server.requests).toHaveLength(1);
  });

  it('tells Brave where the asker is as hints, which it does not refuse', async () => {
    server.answer = { web: { results: [] } };
    const location = { country: 'cz', city: 'Brno', region: 'Jihomoravský kraj' };
    await bound({ user_location: location }, [new BraveEngine(KEY, server.url)]).run({ query: 'q' }, context());
    const [{ url, headers }] = server.requests as [SearchServer['requests'][0]];
    expect(headers).toMatchObject({ 'x-loc-country': 'CZ', 'x-loc-city': 'Brno' });
    expect(headers).not.toHaveProperty('x-loc-state-name');
    expect(url.searchParams.has('country')).toBe(false);
  });

  it.each([
    ['letters', 'a'.repeat(500), 'a'.repeat(400 - ' site:a.example'.length)],
    ['words', 'one '.repeat(60), 'one '.repeat(49).trim()],
  ])('keeps the domains in a query of more %s than Brave takes', async (_what, query, text) => {
    server.answer = { web: { results: [] } };
    await bound({ allowed_domains: ['a.example'] }, [new BraveEngine(KEY, server.url)]).run({ query }, context());
    expect(server.requests[0]!.url.searchParams.get('q')).toBe(`${text} site:a.example`);
  });

  it('speaks to Brave', async () => {
    server.answer = {
      web: {
        results: [
          {
            url: 'https://a.example/',
            title: 'A',
            description: 'a <strong>bold</strong> word',
            extra_snippets: ['more'],
          },
        ],
      },
    };
    const parameters = { allowed_domains: ['a.example', 'b.example'], excluded_domains: ['x.a.example'] };
    const outcome = await bound(parameters, [new BraveEngine(KEY, server.url)]).run({ query: 'q' }, context());
    expect(outcome.parts).toEqual([{ type: 'text', text: '[1] A\nURL: https://a.example/\na bold word\nmore' }]);
    expect(server.requests[0]!.headers['x-subscription-token']).toBe('search-key');
    expect(server.requests[0]!.url.searchParams.get('q')).toBe(
      'q (site:a.example OR site:b.example) -site:x.a.example',
    );
  });

  it('drops what the request does not admit, whatever the engine finds', async () => {
    const evil = 'https://notgood.example/';
    server.answer = results('https://good.example/a', 'https://sub.good.example/', evil, 'https://bad.good.example/');
    const outcome = await bound({ allowed_domains: ['good.example'], excluded_domains: ['bad.good.example'] }).run(
      { query: 'q' },
      context(),
    );
    expect(outcome.sources!.map(({ url }) => url)).toEqual(['https://good.example/a', 'https://sub.good.example/']);
  });

  it('keeps to its limits over all uses of a request', async () => {
    server.answer = results('https://a.example/1', 'https://a.example/2', 'https://a.example/2', 'javascript:alert(1)');
    const tool = bound({ max_uses: 2, max_total_results: 3, max_characters: 2 });
    const first = await tool.run({ query: 'q' }, context());
    expect(first.sources).toMatchObject([{ content: 'te' }, { content: 'te' }]);
    expect((await tool.run({ query: 'q' }, context())).sources).toHaveLength(1);
    const third = await tool.run({ query: 'q' }, context());
    expect(third).toMatchObject({ isError: true, costPicoUsd: 0n });
    expect(server.requests).toHaveLength(2);
  });

  it('keeps to its results also where searches run at once, and counts none of one that failed', async () => {
    server.answer = results('https://a.example/1', 'https://a.example/2');
    const tool = bound({ max_total_results: 3, max_results: 2 });
    const found = await Promise.all([1, 2, 3].map(() => tool.run({ query: 'q' }, context())));
    expect(found.map(({ sources }) => sources?.length)).toEqual([2, 1, undefined]);
    const other = bound({ max_total_results: 2 });
    server.answer = (response) => void response.writeHead(500).end();
    expect((await other.run({ query: 'q' }, context())).isError).toBe(true);
    server.answer = results('https://a.example/1', 'https://a.example/2');
    expect((await other.run({ query: 'q' }, context())).sources).toHaveLength(2);
  });

  it.each([[null], [{}], [{ query: ' ' }], [{ query: 5 }], ['q']])(
    'tells the model what is wrong with the arguments %j',
    async (args) => {
      expect(await bound({}).run(args, context())).toMatchObject({ isError: true, costPicoUsd: 0n });
      expect(server.requests).toHaveLength(0);
    },
  );

  it.each([
    ['a refusal', 401, 'hunter2 is no key'],
    ['no JSON', 200, '<html>'],
    ['a cut answer', 200, null],
    ['an answer of very many lists', 200, `{"results":[],"x":[${'[],'.repeat(300_000)}0]}`],
  ])('tells the model of %s, without the words of the service, and charges nothing', async (_what, status, body) => {
    server.answer = (response) => {
      response.writeHead(status, { 'content-length': body?.length ?? 50 });
      if (body === null) response.socket!.destroy();
      else response.end(body);
    };
    const outcome = await bound({}).run({ query: 'q' }, context());
    expect(outcome).toEqual({
      parts: [{ type: 'text', text: 'The search engine searxng is not available.' }],
      isError: true,
      item: { action: { type: 'search', query: 'q', sources: [] } },
      costPicoUsd: 0n,
    });
  });

  it('ends at once when the client disconnects, and is charged, because the engine was asked', async () => {
    const caller = new AbortController();
    server.answer = () => caller.abort(new Error('left'));
    const { mostPicoUsd: costPicoUsd } = bound({});
    const outcome = await bound({}).run({ query: 'q' }, context(caller.signal));
    expect(outcome).toMatchObject({ isError: true, costPicoUsd });
    await expect(bound({}).run({ query: 'q' }, context(caller.signal))).rejects.toThrow('left');
  });

  it.each([
    [{ engine: 'parallel' }, 'tools[0].parameters.engine is not configured here; there are searxng'],
    [{ engine: 'native' }, 'tools[0].parameters.engine is not configured here; there are searxng'],
    [{ max_results: 0 }, 'tools[0].parameters.max_results must be a whole number from 1 to 25'],
    [{ max_results: '5' }, 'tools[0].parameters.max_results must be'],
    [{ mode: 'slow' }, 'tools[0].parameters.mode must be one of instant'],
    [{ search_context_size: 'huge' }, 'tools[0].parameters.search_context_size must be one of low, medium, high'],
    [{ allowed_domains: 'a.example' }, 'tools[0].parameters.allowed_domains must be an array'],
    [{ allowed_domains: ['https://a.example'] }, 'tools[0].parameters.allowed_domains[0] must be a domain'],
    [{ excluded_domains: ['a.example', ''] }, 'tools[0].parameters.excluded_domains[1] must be a domain'],
    [{ user_location: 'here' }, 'tools[0].parameters.user_location must be an object'],
    [{ user_location: { type: 'exact' } }, 'tools[0].parameters.user_location.type must be one of approximate'],
    [{ max_uses: 1.5 }, 'tools[0].parameters.max_uses must be'],
  ])('refuses %j', (parameters, message) => {
    expect(() => bound(parameters)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
    expect(() => bound(parameters)).toThrow(message);
  });

  it('is refused by name where no engine is configured', () => {
    expect(() => bound({}, [])).toThrow('tools[0].parameters asks for web_search, for which no engine is configured');
    expect(() => bound({ engine: 'exa' }, [])).toThrow('web_search');
  });

  it('takes the first engine that is configured, and any of them by name', async () => {
    const engines = createSearchEngines({
      EXA_API_KEY: KEY,
      TAVILY_API_KEY: KEY,
      BRAVE_API_KEY: KEY,
      SEARXNG_URL: server.url,
    });
    expect(engines.map(({ name }) => name)).toEqual(['exa', 'tavily', 'brave', 'searxng']);
    expect(createSearchEngines({})).toEqual([]);
    server.answer = results();
    const outcome = await bound({ engine: 'searxng' }, engines).run({ query: 'q' }, context());
    expect(outcome).toMatchObject({ parts: [{ text: 'The search found nothing.' }], isError: false });
  });
});
