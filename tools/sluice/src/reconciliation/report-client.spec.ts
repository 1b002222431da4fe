import { Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { OPENAI_REPORTS } from './openai-report';
import { REPORT_BOUNDS, ReportClient, type ReportBounds } from './report-client';
import { ReportServer, type Answer, type SeenRequest } from './testing/report-server';

const KEY = 'sk-admin-secret';
const PATH = '/organization/costs';

describe(ReportClient.name, () => {
  let server: ReportServer;

  afterEach(() => server.close());

  async function refusal(
    answer: (request: SeenRequest) => Answer | null,
    bounds: Partial<ReportBounds> = {},
  ): Promise<string> {
    server = await ReportServer.start(answer);
    const client = new ReportClient(server.baseUrl, new Secret(KEY), OPENAI_REPORTS, { ...REPORT_BOUNDS, ...bounds });
    const error = await client.buckets({ path: PATH, parameters: {} }).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    if (!(error instanceof AppError)) throw new Error('no AppError was thrown');
    expect(JSON.stringify([error.message, error.internal])).not.toContain(KEY);
    return error.internal ?? '';
  }

  it('says that a refused key must be an administrator’s', async () => {
    expect(await refusal(() => ({ status: 403, body: `no ${KEY}` }))).toContain(
      '403: the key must be an administrator',
    );
  });

  it('does not take its key to where a redirect leads', async () => {
    const elsewhere = { status: 302, headers: { location: '/elsewhere' }, body: '' };
    expect(await refusal(() => elsewhere)).toContain('answered with 302');
    expect(server.seen).toHaveLength(1);
  });

  it('gives up on an answer that does not come', async () => {
    expect(await refusal(() => null, { timeoutMs: 50 })).toContain('could not be read within 50 ms');
  });

  it('gives up on an answer that is too long', async () => {
    expect(await refusal(() => ({ body: 'x'.repeat(200) }), { bytes: 100 })).toContain('more than 100 bytes');
  });

  it('gives up on pages without end', async () => {
    const page = (): Answer => ({ body: { data: [], has_more: true, next_page: `page_${server.seen.length}` } });
    expect(await refusal(page, { pages: 3 })).toContain('more than 3 pages');
    expect(server.seen).toHaveLength(3);
  });

  it('gives up on a page that names itself as the next', async () => {
    const page = { body: { data: [], has_more: true, next_page: 'page_1' } };
    expect(await refusal(() => page)).toContain('does not name the next');
  });

  it.each([
    ['did not answer in JSON', '<html>'],
    ['did not answer with an object', '[]'],
    ['without a list of days', '{"data": 3}'],
    ['a day that has no results', '{"data": [{"start_time": 1}]}'],
  ])('refuses an answer that %s', async (what, body) => {
    expect(await refusal(() => ({ body }))).toContain(what);
  });
});
