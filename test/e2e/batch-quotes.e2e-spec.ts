import { startBatchInstallation, type BatchInstallation } from '../support/batch-installation';
import { chatRequests, linesOf } from '../support/batch-lines';
import type { ApiAnswer, ApiClient, BatchBody } from '../support/client';
import { eventually } from '../support/eventually';

/** The cost and time that a batch is quoted, and what they then are. */

const PRICES = { prompt: '0.000000123', completion: '0.000000457' };
const CONCURRENCY = 16;
const LATENCY_MS = 150;
const DAY_SECONDS = 86_400;
const END_MS = 90_000;
const BOOT_TIMEOUT_MS = 240_000;
const ASKED = { 'x-sluice-metadata': 'enabled' };

type Headers = Readonly<Record<string, string>>;

interface Quote {
  readonly lane: string;
  readonly cost: { readonly low: number; readonly high: number; readonly basis: string };
  readonly finish: { readonly earliest: number; readonly latest: number; readonly basis: string };
}
type Accepted = BatchBody & { readonly sluice_metadata?: { readonly quote: Quote } };

const SCRIPTS = { steady: { latencyMs: LATENCY_MS }, fast: {}, unknown: {} };

let started: BatchInstallation;
let installation: BatchInstallation['installation'];
let client: ApiClient;

beforeAll(async () => {
  started = await startBatchInstallation({
    scripts: SCRIPTS,
    pricing: PRICES,
    environment: {
      BATCH_CONCURRENCY: String(CONCURRENCY),
      BATCH_SUBMISSIONS_PER_MINUTE: '100000',
      BATCH_READS_PER_MINUTE: '100000',
    },
  });
  ({ installation, client } = started);
}, BOOT_TIMEOUT_MS);

afterAll(() => started?.stop(), BOOT_TIMEOUT_MS);

function post(
  script: keyof typeof SCRIPTS,
  { tag, lines }: { tag: string; lines: number },
  headers: Headers = ASKED,
): Promise<ApiAnswer<Accepted>> {
  const requests = chatRequests(linesOf(tag, lines));
  const body = { endpoint: '/v1/chat/completions', model: `tests/${script}`, requests };
  return client.request<Accepted>('POST', '/batches', body, headers);
}

async function quoted(
  script: keyof typeof SCRIPTS,
  plan: { tag: string; lines: number },
): Promise<{ batch: Accepted; quote: Quote }> {
  const { status, body } = await post(script, plan);
  expect(status).toBe(202);
  return { batch: body, quote: body.sluice_metadata!.quote };
}

function ended(id: string): Promise<BatchBody> {
  return eventually(`the end of ${id}`, END_MS, async () => {
    const { body } = await client.request<BatchBody>('GET', `/batches/${id}?results=false`);
    return body.finalized_at === null ? undefined : body;
  });
}

/** Until the worker has reported how fast it called a provider. */
function untilMeasured(quota: string): Promise<true> {
  return eventually(`a speed for ${quota}`, END_MS, async () => {
    const row = await installation.database.firstRow<{ lines: number }>({
      sql: `SELECT sum((lanes #>> $1)::float8) AS lines FROM batch_workers`,
      values: [[quota, 'lines']],
    });
    return (row?.lines ?? 0) > 0 ? true : undefined;
  });
}

/** What finished batches were counted as, by quantity. */
async function verdicts(): Promise<Record<string, number>> {
  const text = await (await fetch(`${installation.healthUrlOf('batch-worker')}/metrics`)).text();
  const counts: Record<string, number> = {};
  for (const [, labels = '', count] of text.matchAll(/^sluice_batch_quote_outcomes_total\{(.*)\} (\d+)$/gm)) {
    const quantity = /quantity="(\w+)"/.exec(labels)![1]!;
    expect(labels).toMatch(/verdict="(inside|below|above)"/);
    counts[quantity] = (counts[quantity] ?? 0) + Number(count);
  }
  return counts;
}

const costOf = ({ usage }: BatchBody): number => Number((usage as { cost: string }).cost);

describe('the quote of a batch', () => {
  it('is given to who asks for metadata, and to nobody else', async () => {
    const [asks, doesNot]: [Headers[], Headers[]] = [
      [{ 'x-sluice-metadata': 'Enabled' }, { 'x-sluice-experimental-metadata': 'enabled' }],
      [{}, { 'x-sluice-metadata': 'disabled' }, { 'x-sluice-metadata': 'yes' }],
    ];
    for (const headers of doesNot) {
      const { status, body } = await post('unknown', { tag: 'unasked', lines: 1 }, headers);
      expect(status).toBe(202);
      expect(body).not.toHaveProperty('sluice_metadata');
    }
    for (const headers of asks) {
      const { body } = await post('unknown', { tag: 'asked', lines: 1 }, headers);
      expect(body.sluice_metadata!.quote.lane).toBe('managed');
    }
  });

  it('says what is set aside and the whole window, of a provider that was never called', async () => {
    const { batch, quote } = await quoted('steady', { tag: 'first', lines: 10 * CONCURRENCY });
    const hold = await installation.database.firstRow<{ amount: string }>({
      sql: 'SELECT amount_usd::text AS amount FROM ledger_holds WHERE id = $1',
      values: [batch.id],
    });
    expect(quote.cost).toEqual({ low: 0, high: Number(hold!.amount), basis: 'request' });
    expect(quote.finish.basis).toBe('window');
    expect(quote.finish.earliest).toBe(batch.created_at);
    expect(quote.finish.latest).toBe(batch.created_at + DAY_SECONDS + 1);
    await ended(batch.id);
  });

  it('holds what the batch then costs and when it ends, at a provider of known latency', async () => {
    await untilMeasured('tests-steady upstream-tests-steady');
    // What was read of it before that is kept for a while, on a busy machine for seconds.
    await eventually('quotes that know it', END_MS, async () => {
      const { batch, quote } = await quoted('steady', { tag: 'probe', lines: 1 });
      await ended(batch.id);
      return quote.finish.basis !== 'window' ? true : undefined;
    });
    const lines = 30 * CONCURRENCY;
    const { batch, quote } = await quoted('steady', { tag: 'known', lines });
    const end = await ended(batch.id);
    expect(end.request_counts.completed).toBe(lines);
    expect(costOf(end)).toBeGreaterThan(quote.cost.low);
    expect(costOf(end)).toBeLessThanOrEqual(quote.cost.high);
    expect(end.finalized_at).toBeGreaterThanOrEqual(quote.finish.earliest);
    expect(end.finalized_at).toBeLessThanOrEqual(quote.finish.latest);
    // Nearly all of the window is ruled out: sixteen lines at a time, each 150 ms and what a busy machine adds.
    expect(quote.finish.basis).toBe('throughput');
    expect(quote.finish.latest - batch.created_at).toBeLessThan(DAY_SECONDS / 24);
  });

  it('is later while others are waiting', async () => {
    const waiting = [];
    for (const tag of ['ahead-one', 'ahead-two']) {
      waiting.push(await quoted('steady', { tag, lines: 60 * CONCURRENCY }));
    }
    const idealSeconds = (2 * 50 * LATENCY_MS) / 1_000;
    // Looks at the lane are shared for a moment, so the first answers may not know of those who wait.
    await eventually('a quote that knows of the lines ahead', END_MS, async () => {
      const { batch } = await quoted('steady', { tag: `behind-${Math.random()}`, lines: 1 });
      const row = await installation.database.firstRow<{ ms: number }>({
        sql: `SELECT (quote #>> '{finish,expected_ms}')::float8 AS ms FROM batches WHERE id = $1`,
        values: [batch.id],
      });
      return row!.ms > idealSeconds * 1_000 ? true : undefined;
    });
    for (const { batch } of waiting) {
      expect((await client.request('POST', `/batches/${batch.id}/cancel`)).status).toBe(200);
    }
    for (const { batch } of waiting) expect((await ended(batch.id)).status).toBe('cancelled');
    const retried = await client.request<Accepted>('POST', `/batches/${waiting[0]!.batch.id}/retry`, undefined, ASKED);
    expect(retried.status).toBe(202);
    expect(retried.body.sluice_metadata!.quote.finish.latest).toBeGreaterThan(retried.body.created_at);
    await client.request('POST', `/batches/${retried.body.id}/cancel`);
    await ended(retried.body.id);
  });

  it('comes from what batches of its kind came to, once there are nine', async () => {
    const tags = Array.from({ length: 9 }, (_, index) => `like-${index}`);
    for (const tag of tags) await ended((await quoted('fast', { tag, lines: 10 })).batch.id);
    await untilMeasured('tests-fast upstream-tests-fast');
    for (const tag of tags) await ended((await quoted('fast', { tag: `${tag}-again`, lines: 10 })).batch.id);
    const { batch, quote } = await eventually('a quote from history', END_MS, async () => {
      const next = await quoted('fast', { tag: 'like-x', lines: 10 });
      await ended(next.batch.id);
      return next.quote.finish.basis === 'history' ? next : undefined;
    });
    const end = await ended(batch.id);
    expect(quote.cost.basis).toBe('history');
    expect(costOf(end)).toBeGreaterThanOrEqual(quote.cost.low * (1 - 1e-6));
    expect(costOf(end)).toBeLessThanOrEqual(quote.cost.high * (1 + 1e-6));
    // Lines that are alike cost alike, so little is left open.
    expect(quote.cost.high).toBeLessThan(quote.cost.low * 1.5);
    expect(quote.finish.latest - batch.created_at).toBeLessThan(DAY_SECONDS / 24);
  });

  it('is the same when a submission is repeated', async () => {
    const headers = { ...ASKED, 'idempotency-key': 'quoted-once' };
    const first = await post('fast', { tag: 'repeated', lines: 3 }, headers);
    await ended(first.body.id);
    const again = await post('fast', { tag: 'repeated', lines: 3 }, headers);
    expect(again.body.id).toBe(first.body.id);
    expect(again.body.sluice_metadata).toEqual(first.body.sluice_metadata);
  });

  it('is compared with the end of every batch that ran to it', async () => {
    const row = await eventually('all are over', END_MS, async () =>
      installation.database
        .firstRow<{ n: number }>({
          sql: `SELECT count(*) FILTER (WHERE status = 'completed')::integer AS n FROM batches
              HAVING bool_and(finalized_at IS NOT NULL)`,
        })
        .then((found) => found ?? undefined),
    );
    expect(row.n).toBeGreaterThan(20);
    await eventually('all are counted', END_MS, async () => {
      const { cost, finish } = await verdicts();
      return cost === row.n && finish === row.n ? true : undefined;
    });
  });
});
