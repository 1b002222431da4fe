import { setTimeout as delay } from 'node:timers/promises';
import { BatchRun, type BatchPlan } from '../support/batch-run';
import { catalogueOf } from '../support/catalogue';
import { findViolations } from '../support/checker';
import type { ApiAnswer, ApiClient, BatchBody } from '../support/client';
import { readBooks } from '../support/history';
import { Installation } from '../support/installation';
import { Upstream } from '../support/upstream';
import { countRows } from '../support/stored-rows';

const PRICES = { prompt: '0.000000123', completion: '0.000000457' };
const CONCURRENCY = 16;
const END_MS = 30_000;
/** A cancelled batch is over within this on a busy machine, whatever its size. */
const CANCELLED_WITHIN_MS = 60_000;

const SCRIPTS = { fast: {}, slow: { latencyMs: 150 }, sticky: { hangShare: 1 }, broken: { serverErrorShare: 1 } };

interface BatchList {
  readonly object: string;
  readonly data: readonly BatchBody[];
  readonly first_id: string | null;
  readonly last_id: string | null;
  readonly has_more: boolean;
}

let upstream: Upstream;
let installation: Installation;
let client: ApiClient;
let neighbour: ApiClient;

beforeAll(async () => {
  upstream = await Upstream.start(SCRIPTS);
  installation = await Installation.start({
    catalogue: catalogueOf(upstream.models(SCRIPTS, { pricing: PRICES })),
    environment: { BATCH_CONCURRENCY: String(CONCURRENCY), BATCH_SUBMISSIONS_PER_MINUTE: '1000' },
  });
  client = installation.client();
  const manager = installation.client(installation.seed.managementKey);
  const made = await manager.request<{ data: { id: string } }>('POST', '/workspaces', { name: 'Next', slug: 'next' });
  const body = { name: 'next', workspace_id: made.body.data.id };
  neighbour = installation.client((await manager.request<{ key: string }>('POST', '/keys', body)).body.key);
  await manager.close();
}, 240_000);

afterAll(async () => {
  await Promise.all([client?.close(), neighbour?.close()]);
  await installation?.stop();
  await upstream?.stop();
}, 240_000);

beforeEach(() => upstream.forget());

function submit(plan: Pick<BatchPlan, 'tag' | 'lines'>, script: keyof typeof SCRIPTS = 'fast'): Promise<BatchRun> {
  return BatchRun.submit(installation, upstream, client, { ...plan, model: `tests/${script}`, prices: PRICES });
}

const chargedLines = async (id: string): Promise<number> =>
  (await readBooks(installation.database, id)).transfers.length;
const cancel = (id: string, by: ApiClient = client): Promise<ApiAnswer<BatchBody>> =>
  by.request<BatchBody>('POST', `/batches/${id}/cancel`);
const remove = (id: string, by: ApiClient = client): Promise<ApiAnswer> => by.request('DELETE', `/batches/${id}`);

async function expectSound(run: BatchRun): Promise<BatchBody> {
  expect(findViolations(await run.history())).toEqual([]);
  return run.batch!;
}

const errorTypes = (batch: BatchBody): string[] => [
  ...new Set((batch.results ?? []).flatMap(({ error }) => (error === null ? [] : [error.type]))),
];

describe('POST /batches/{id}/cancel', () => {
  it('keeps what is finished, answers the rest with an error item, charges what ran, and is over in seconds', async () => {
    const run = await submit({ tag: 'cancel', lines: 20_000 }, 'slow');
    await upstream.untilCalls(100);
    const answer = await cancel(run.id);
    expect(answer).toMatchObject({ status: 200, body: { id: run.id, status: 'cancelling', results: null } });
    expect((await cancel(run.id)).status).toBe(200);
    expect((await remove(run.id)).status).toBe(409);
    const calls = (await upstream.counts()).calls;

    await run.untilTerminal(CANCELLED_WITHIN_MS);
    const batch = await expectSound(run);
    expect(batch.status).toBe('cancelled');
    expect(errorTypes(batch)).toEqual(['batch_cancelled']);
    expect(batch.request_counts.completed).toBeGreaterThanOrEqual(50);
    expect(batch.request_counts.failed).toBeGreaterThan(19_000);
    // Lines in flight ended; none was begun.
    expect((await upstream.counts()).calls).toBeLessThanOrEqual(calls + CONCURRENCY);
    expect((await cancel(run.id)).status).toBe(409);
  });

  it('calls off what the provider never answers, and charges those prompts', async () => {
    const run = await submit({ tag: 'sticky', lines: 40 }, 'sticky');
    await upstream.untilCalls(CONCURRENCY);
    expect((await cancel(run.id)).status).toBe(200);
    await run.untilTerminal(CANCELLED_WITHIN_MS);
    const batch = await expectSound(run);
    expect(batch).toMatchObject({ status: 'cancelled', request_counts: { total: 40, completed: 0, failed: 40 } });
    expect(errorTypes(batch)).toEqual(['batch_cancelled']);
    expect(await chargedLines(run.id)).toBe(CONCURRENCY);
    // The worker is free again at once.
    const next = await submit({ tag: 'after-sticky', lines: 40 });
    await next.untilTerminal(END_MS);
    expect((await expectSound(next)).status).toBe('completed');
  });

  it('is answered alike for a batch that is unknown and one of another workspace', async () => {
    const run = await submit({ tag: 'foreign', lines: 2 });
    const foreign = await cancel(run.id, neighbour);
    const unknown = await cancel('batch-1700000000-abcdefghijklmnopqrst');
    expect([foreign.status, unknown.status]).toEqual([404, 404]);
    expect(foreign.body).toEqual(unknown.body);
    await run.untilTerminal(END_MS);
    expect((await cancel(run.id)).status).toBe(409);
    expect((await expectSound(run)).status).toBe('completed');
  });
});

describe('DELETE /batches/{id}', () => {
  it('removes requests and results, keeps the books, and happens once', async () => {
    const run = await submit({ tag: 'gone', lines: 30 });
    await run.untilTerminal(END_MS);
    const history = await run.history();
    expect(findViolations(history)).toEqual([]);
    const before = await countRows(installation.database);

    const answers = await Promise.all([remove(run.id), remove(run.id)]);

    expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 404]);
    expect(answers.find(({ status }) => status === 200)!.body).toEqual({
      id: run.id,
      object: 'batch',
      deletion: { sluice: 'deleted', upstream: { provider: 'tests-fast', status: 'not_applicable' } },
    });
    expect(await countRows(installation.database)).toEqual({
      ...before,
      batch_lines: String(Number(before.batch_lines) - 30),
      batch_results: String(Number(before.batch_results) - 30),
    });
    const after = await Promise.all([client.getBatch(run.id), remove(run.id), cancel(run.id)]);
    expect(after.map(({ status }) => status)).toEqual([404, 404, 404]);
    const { drift } = (await run.history()).books;
    expect(drift).toEqual([]);
  });

  it('is refused while the batch is not over, and for whom it does not belong to', async () => {
    const run = await submit({ tag: 'unfinished', lines: 60 }, 'slow');
    expect((await remove(run.id)).status).toBe(409);
    expect((await remove(run.id, neighbour)).status).toBe(404);
    await cancel(run.id);
    await run.untilTerminal(END_MS);
    expect((await remove(run.id, neighbour)).status).toBe(404);
    expect((await remove(run.id)).status).toBe(200);
  });
});

describe('time', () => {
  it('ends a batch after its 24 hours with what it has', async () => {
    const run = await submit({ tag: 'late', lines: 600 }, 'slow');
    await upstream.untilCalls(64);
    await installation.database.execute({
      sql: 'UPDATE batches SET expires_at = now() WHERE id = $1',
      values: [run.id],
    });
    await run.untilTerminal(20_000);
    const batch = await expectSound(run);
    expect(batch.status).toBe('expired');
    expect(errorTypes(batch)).toEqual(['batch_expired']);
    expect(batch.request_counts.completed).toBeGreaterThanOrEqual(32);
  });

  it('ends the results of a batch after 30 days, to the second', async () => {
    const run = await submit({ tag: 'old', lines: 3 });
    await run.untilTerminal(END_MS);
    const createdAgo = (age: string): Promise<number> =>
      installation.database.execute({
        sql: `UPDATE batches SET created_at = now() - $2::interval WHERE id = $1`,
        values: [run.id, age],
      });
    await createdAgo('29 days 23:59:58');
    expect((await client.getBatch(run.id)).status).toBe(200);
    await createdAgo('30 days 00:00:01');
    expect((await client.getBatch(run.id)).status).toBe(410);
    const bare = await client.request<BatchBody>('GET', `/batches/${run.id}?results=false`);
    expect(bare).toMatchObject({ status: 200, body: { status: 'completed', results: null } });
    expect(bare.body.usage).toEqual(run.batch!.usage);
    expect((await remove(run.id)).status).toBe(200);
    expect((await client.getBatch(run.id)).status).toBe(404);
  });
});

describe('POST /batches/{id}/retry', () => {
  it('runs the lines without a response as a new batch', async () => {
    const run = await submit({ tag: 'again', lines: 400 }, 'slow');
    await upstream.untilCalls(150);
    expect((await client.request('POST', `/batches/${run.id}/retry`)).status).toBe(409);
    await cancel(run.id);
    const first = await run.untilTerminal(END_MS);
    const open = first.results!.filter(({ error }) => error !== null).map(({ custom_id: customId }) => customId);
    expect(open.length).toBeGreaterThan(100);

    const retry = await client.request<BatchBody>('POST', `/batches/${run.id}/retry`, undefined, {
      'idempotency-key': 'again',
    });
    expect(retry).toMatchObject({
      status: 202,
      body: { status: 'validating', model: 'tests/slow', request_counts: { total: open.length } },
    });
    expect(retry.body.id).not.toBe(run.id);
    const repeated = await client.request<BatchBody>('POST', `/batches/${run.id}/retry`, undefined, {
      'idempotency-key': 'again',
    });
    expect(repeated.body.id).toBe(retry.body.id);

    let second = retry.body;
    for (const endMs = performance.now() + END_MS; second.finalized_at === null && performance.now() < endMs;) {
      await delay(100);
      second = (await client.getBatch(retry.body.id)).body;
    }
    expect(second.status).toBe('completed');
    expect(second.results!.map(({ custom_id: customId }) => customId).toSorted()).toEqual(open.toSorted());
    expect((await client.request('POST', `/batches/${second.id}/retry`)).status).toBe(409);
  });
});

describe('GET /batches', () => {
  const list = (query: string, by: ApiClient = client): Promise<ApiAnswer<BatchList>> =>
    by.request<BatchList>('GET', `/batches${query}`);

  it('shows a workspace its own batches, newest first, page by page', async () => {
    expect((await list('', neighbour)).body).toEqual({
      object: 'list',
      data: [],
      first_id: null,
      last_id: null,
      has_more: false,
    });
    const runs: BatchRun[] = [];
    for (const tag of ['list-one', 'list-two', 'list-three']) runs.push(await submit({ tag, lines: 1 }));
    for (const run of runs) await run.untilTerminal(END_MS);
    const [one, two, three] = runs.map(({ id }) => id);

    const page = (await list('?limit=2')).body;
    expect(page.data.map(({ id }) => id)).toEqual([three, two]);
    expect(page).toMatchObject({ object: 'list', first_id: three, last_id: two, has_more: true });
    expect(page.data.every(({ results }) => results === null)).toBe(true);
    // A cursor holds although its batch was removed.
    expect((await remove(two!)).status).toBe(200);
    expect((await list(`?limit=1&after=${two}`)).body.data.map(({ id }) => id)).toEqual([one]);

    const seen: string[] = [];
    for (let after = ''; ;) {
      const { data, last_id: last, has_more: hasMore } = (await list(`?limit=3${after}`)).body;
      seen.push(...data.map(({ id }) => id));
      if (!hasMore) break;
      after = `&after=${last}`;
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toEqual((await list('?limit=100')).body.data.map(({ id }) => id));
  });

  it('filters by status and time, strictly', async () => {
    const cancelled = (await list('?status=cancelled&status=expired')).body.data;
    expect(new Set(cancelled.map(({ status }) => status))).toEqual(new Set(['cancelled', 'expired']));
    const [newest] = (await list('?limit=1')).body.data;
    const row = await installation.database.firstRow<{ at: string }>({
      sql: `SELECT to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at FROM batches WHERE id = $1`,
      values: [newest!.id],
    });
    expect((await list(`?created_after=${row!.at}`)).body.data).toEqual([]);
    expect((await list(`?created_before=${row!.at}`)).body.data.map(({ id }) => id)).not.toContain(newest!.id);
    const aMinute = `?created_after=${newest!.created_at - 1}&created_before=${newest!.created_at + 60}`;
    expect((await list(aMinute)).body.data.map(({ id }) => id)).toContain(newest!.id);
  });

  it.each([
    '?limit=0',
    '?status=finalizing',
    '?created_after=soon',
    '?after=nothing',
    '?after=batch-1-aaaaaaaaaaaaaaaaaaaa',
  ])('refuses %s', async (query) => {
    const answer = await list(query);
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 400 } } });
  });
});
