import { Secret } from '@libs/contracts';
import { formatUsd } from '@libs/inference';
import { ANTHROPIC_REPORTS, readAnthropicReport } from './anthropic-report';
import { OPENAI_REPORTS, readOpenaiReport } from './openai-report';
import { ReportClient } from './report-client';
import { fixture, ReportServer } from './testing/report-server';
import { NO_TOKENS } from './token-counts';

const DAYS = { from: '2025-11-20', to: '2025-11-21' };
const EMPTY = { data: [], has_more: false, next_page: null };

describe('reports of providers', () => {
  let server: ReportServer;

  afterEach(() => server.close());

  const amounts = (costs: readonly { readonly item: string; readonly amount: bigint }[]): string[] =>
    costs.map(({ item, amount }) => `${item}: ${formatUsd(amount)}`);

  describe(readOpenaiReport.name, () => {
    beforeEach(async () => {
      server = await ReportServer.start(({ path, query }) => {
        if (path.endsWith('/costs')) return { body: fixture('openai-costs') };
        const isFirst = path.endsWith('/completions') && !query.has('page');
        return { body: isFirst ? fixture('openai-completions') : EMPTY };
      });
    });

    const read = (project?: string) =>
      readOpenaiReport(new ReportClient(server.baseUrl, new Secret('sk-admin'), OPENAI_REPORTS), DAYS, project);

    it('reads tokens by class, with tier, batch and key', async () => {
      const { usage } = await read();
      const common = { day: '2025-11-20', model: 'gpt-4o-mini-2024-07-18', tier: 'standard', isLong: null };
      expect(usage).toEqual([
        {
          ...common,
          key: 'key_abc',
          isBatch: false,
          requests: 5n,
          tokens: { ...NO_TOKENS, uncached: 1_000n, cached: 4_000n, output: 1_000n },
        },
        { ...common, key: null, isBatch: true, requests: 1n, tokens: { ...NO_TOKENS, uncached: 70n, output: 7n } },
      ]);
    });

    it('reads amounts as they are written, and what they are for', async () => {
      const { costs } = await read();
      expect(amounts(costs)).toEqual([
        'gpt-4o-mini-2024-07-18, input: 0.00015',
        'gpt-4o-mini-2024-07-18, cached input: 0.0003',
        'web search tool calls: 0.03',
        'Fine tuning (hosting): 1',
      ]);
      expect(costs.map(({ model, tokenClass, tool }) => [model, tokenClass, tool])).toEqual([
        ['gpt-4o-mini-2024-07-18', 'uncached', null],
        ['gpt-4o-mini-2024-07-18', 'cached', null],
        [null, null, 'web_search'],
        [null, null, null],
      ]);
    });

    it('asks with the key for days, groups, the project and the next page', async () => {
      await read('proj_1');
      const [first, second] = server.seen;
      expect(first?.headers['authorization']).toBe('Bearer sk-admin');
      expect(first?.path).toBe('/v1/organization/usage/completions');
      expect(first?.query.getAll('group_by')).toEqual(['model', 'api_key_id', 'batch', 'service_tier']);
      expect(Object.fromEntries(first?.query ?? [])).toMatchObject({
        start_time: '1763596800',
        end_time: '1763769600',
        bucket_width: '1d',
        project_ids: 'proj_1',
      });
      expect(second?.query.get('page')).toBe('page_AAAAAGdGxdEiJdKOAAAAAGcqsYA=');
      expect(server.seen.map(({ path }) => path).slice(2)).toEqual([
        '/v1/organization/usage/embeddings',
        '/v1/organization/costs',
      ]);
    });
  });

  describe(readAnthropicReport.name, () => {
    beforeEach(async () => {
      server = await ReportServer.start(({ path }) => ({
        body: fixture(path.endsWith('/cost_report') ? 'anthropic-costs' : 'anthropic-usage'),
      }));
    });

    const read = (workspace?: string) =>
      readAnthropicReport(
        new ReportClient(server.baseUrl, new Secret('sk-ant-admin'), ANTHROPIC_REPORTS),
        DAYS,
        workspace,
      );

    it('reads tokens by class, with context window, batch and key', async () => {
      const { usage } = await read();
      const common = { day: '2025-11-20', model: 'claude-sonnet-4-20250514', tier: 'standard', requests: null };
      expect(usage).toEqual([
        {
          ...common,
          key: 'apikey_01Rj2N8SVvo6BePZj99NhmiT',
          isLong: true,
          isBatch: false,
          tokens: { uncached: 1_500n, cached: 200n, cacheWrite5m: 500n, cacheWrite1h: 1_000n, output: 500n },
        },
        { ...common, key: null, isLong: false, isBatch: true, tokens: { ...NO_TOKENS, uncached: 15n, output: 5n } },
      ]);
    });

    it('reads amounts in cents, and what they are for', async () => {
      const { costs } = await read();
      expect(amounts(costs)).toEqual([
        'Claude Sonnet 4 Usage - Input Tokens, Cache Write: 1.2378912',
        'Web Search Usage: 0.1',
      ]);
      expect(costs.map(({ model, tokenClass, tool }) => [model, tokenClass, tool])).toEqual([
        ['claude-sonnet-4-20250514', 'cacheWrite5m', null],
        [null, null, 'web_search'],
      ]);
    });

    it('asks with the key for days and groups, and keeps one workspace', async () => {
      const { usage, costs } = await read('default');
      expect([usage.length, costs.length]).toEqual([1, 1]);
      const [first, second] = server.seen;
      expect(first?.headers).toMatchObject({ 'x-api-key': 'sk-ant-admin', 'anthropic-version': '2023-06-01' });
      expect(first?.query.getAll('group_by[]')).toEqual(expect.arrayContaining(['service_tier', 'context_window']));
      expect(first?.query.get('starting_at')).toBe('2025-11-20T00:00:00Z');
      expect(first?.query.get('ending_at')).toBe('2025-11-22T00:00:00Z');
      expect(second?.query.getAll('group_by[]')).toEqual(['workspace_id', 'description']);
    });
  });
});
