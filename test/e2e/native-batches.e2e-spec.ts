import { setTimeout as delay } from 'node:timers/promises';
import { startSandbox, type Sandbox } from '../../tools/sandbox-provider/src/start-sandbox';
import { catalogueOf, type TestModel } from '../support/catalogue';
import type { ApiClient, BatchBody, BatchRequestLine } from '../support/client';
import { eventually } from '../support/eventually';
import { HeldDoor } from '../support/held-door';
import { Installation } from '../support/installation';

/** Batches that run at their provider's own batch API: the sandbox provider speaks two of those. */

const BOOT_TIMEOUT_MS = 240_000;
const END_WITHIN_MS = 60_000;
/** Restart of the worker, its predecessor's lease, and the run. */
const TAKEOVER_MS = 60_000;
const SINGLE = { prompt: '0.000002', completion: '0.000004' };
const BATCHED = { prompt: '0.000001', completion: '0.000002' };

let sandbox: Sandbox;
let door: HeldDoor;
let installation: Installation;
let client: ApiClient;

const models = (): TestModel[] =>
  Object.entries({
    steady: 'steady?batch_ms=300',
    half: 'half?batch_ms=200&batch_end=expired',
    refused: 'refused?batch_ms=200&batch_end=failed',
    flaky: 'flaky?batch_ms=200&status=503&fail_times=1',
    slow: 'slow?batch_ms=15000',
    wrong: 'wrong?batch_ms=200&status=400',
    own: 'own?batch_ms=8000',
  })
    .map(([name, upstreamModel]): TestModel => ({ ...common(name), upstreamModel }))
    .concat({ ...common('letters'), protocol: 'anthropic', apis: ['messages'], upstreamModel: 'letters?batch_ms=300' });

function common(name: string): TestModel {
  const slug = `tests/${name}`;
  const [pricing, batchPricing] = [SINGLE, BATCHED];
  // The one for which callers may have a key of their own.
  const provider = name === 'own' ? 'cerebras' : `native-${name}`;
  return { slug, provider, baseUrl: `${door.url}/v1`, batch: 'native', pricing, batchPricing };
}

beforeAll(async () => {
  sandbox = await startSandbox({ record: true, batchMs: 200 });
  door = await HeldDoor.before(sandbox.url);
  installation = await Installation.start({
    apps: ['auth', 'batch-worker', 'gateway'],
    catalogue: catalogueOf(models()),
  });
  client = installation.client();
}, BOOT_TIMEOUT_MS);

afterAll(async () => {
  await client?.close();
  await installation?.stop();
  await door?.close();
  await sandbox?.close();
}, BOOT_TIMEOUT_MS);

beforeEach(() => sandbox.resetCalls());

const chatLine = (id: string): BatchRequestLine => ({
  custom_id: `callers-own-name-${id}`,
  body: { messages: [{ role: 'user', content: `Line ${id}, please.` }], max_tokens: 32 },
});

async function submit(model: string, tag: string, lines: number, endpoint = '/v1/chat/completions'): Promise<string> {
  const requests = Array.from({ length: lines }, (_, index) => chatLine(`${tag}-${index}`));
  const { status, body, text } = await client.submitBatch({ endpoint, model: `tests/${model}`, requests });
  if (status !== 202) throw new Error(`the batch was answered with ${status}: ${text}`);
  return body.id;
}

const TERMINAL = new Set(['completed', 'failed', 'expired', 'cancelled']);

function ended(id: string, withinMs = END_WITHIN_MS): Promise<BatchBody> {
  return eventually(`the end of ${id}`, withinMs, async () => {
    const { status, body } = await client.getBatch(id);
    return status === 200 && TERMINAL.has(body.status) ? body : undefined;
  });
}

/** In picodollars, of what the results say was used. */
function priceOf(batch: BatchBody, prices: typeof SINGLE): bigint {
  return (batch.results ?? []).reduce((sum, { response }) => {
    const usage = response?.body['usage'] as Record<string, number> | undefined;
    const prompt = usage?.['prompt_tokens'] ?? usage?.['input_tokens'] ?? 0;
    const completion = usage?.['completion_tokens'] ?? usage?.['output_tokens'] ?? 0;
    return sum + BigInt(prompt) * picoUsd(prices.prompt) + BigInt(completion) * picoUsd(prices.completion);
  }, 0n);
}

function picoUsd(text: string): bigint {
  const [whole = '0', decimals = ''] = text.split('.');
  return BigInt(whole) * 10n ** 12n + BigInt(decimals.padEnd(12, '0'));
}

async function charged(id: string): Promise<{ charges: number; sum: bigint }> {
  const row = await installation.database.firstRow<{ charges: number; sum: string }>({
    sql: `SELECT count(*)::integer AS charges, (coalesce(sum(t.amount_usd), 0) * 1e12)::numeric(38,0)::text AS sum
          FROM ledger_transfers t JOIN batch_results r ON r.generation_id = t.reference
          JOIN batches b ON b.number = r.batch_number WHERE b.id = $1 AND t.kind = 'charge'`,
    values: [id],
  });
  return { charges: row?.charges ?? 0, sum: BigInt(row?.sum ?? 0) };
}

/** Every line once, each answering its own question. */
function expectWhole(batch: BatchBody, tag: string, lines: number): void {
  const expected = Array.from({ length: lines }, (_, index) => chatLine(`${tag}-${index}`).custom_id);
  expect((batch.results ?? []).map((result) => result.custom_id).sort()).toEqual(expected.sort());
  expect(batch.request_counts.total).toBe(lines);
}

const called = (route: string): number => sandbox.calls().by_route[route] ?? 0;

describe('a batch at its provider', () => {
  it('runs there as one batch, under ids of ours, at batch prices', async () => {
    const id = await submit('steady', 'steady', 300);
    const batch = await ended(id);
    expectWhole(batch, 'steady', 300);
    expect(batch).toMatchObject({ status: 'completed', request_counts: { completed: 300, failed: 0 } });
    expect([called('POST /v1/batches'), called('POST /v1/chat/completions')]).toEqual([1, 0]);
    expect(await charged(id)).toEqual({ charges: 300, sum: priceOf(batch, BATCHED) });
    const bodyIds = (batch.results ?? []).map(({ response }) => String(response?.body['id']));
    expect(bodyIds.every((one) => one.startsWith('gen-batch-'))).toBe(true);
  });

  it('is run line by line once a policy demands that nothing is kept, also where that was set after it was taken in', async () => {
    const manager = installation.client(installation.seed.managementKey);
    const workspace = `/workspaces/${installation.seed.workspaceId}`;
    const setPolicy = async (policy: object | null): Promise<void> => {
      expect(await manager.request('PATCH', workspace, { policy })).toMatchObject({ status: 200 });
    };
    await installation.stopApp('batch-worker');
    const id = await submit('steady', 'unkept', 5);
    await setPolicy({ zdr: true });
    await installation.startApp('batch-worker');
    try {
      const batch = await ended(id);
      expectWhole(batch, 'unkept', 5);
      expect(batch).toMatchObject({ status: 'completed', request_counts: { completed: 5 } });
      const routes = ['POST /v1/files', 'POST /v1/batches', 'POST /v1/chat/completions'];
      expect(routes.map(called)).toEqual([0, 0, 5]);
    } finally {
      await setPolicy(null);
      await manager.close();
      await delay(1_000);
    }
  });

  it('is quoted as such: nothing is known of when its provider will have it', async () => {
    const requests = [chatLine('quoted')];
    const body = { endpoint: '/v1/chat/completions', model: 'tests/steady', requests };
    const headers = { 'x-sluice-metadata': 'enabled' };
    const accepted = await client.request<BatchBody & { sluice_metadata: { quote: object } }>(
      'POST',
      '/batches',
      body,
      headers,
    );
    expect(accepted.body.sluice_metadata.quote).toMatchObject({
      lane: 'native',
      cost: { low: 0, basis: 'request' },
      finish: { earliest: accepted.body.created_at, basis: 'window' },
    });
    await ended(accepted.body.id);
  });

  it('speaks message batches just as well', async () => {
    const id = await submit('letters', 'letters', 20, '/v1/messages');
    const batch = await ended(id);
    expectWhole(batch, 'letters', 20);
    expect(batch).toMatchObject({ status: 'completed', request_counts: { completed: 20, failed: 0 } });
    expect(batch.usage).toMatchObject({ service_tier: 'standard', speed: null });
    expect([called('POST /v1/messages/batches'), called('POST /v1/messages')]).toEqual([1, 0]);
    expect(await charged(id)).toEqual({ charges: 20, sum: priceOf(batch, BATCHED) });
  });

  it('gives callers of another dialect what they asked for', async () => {
    const id = await submit('letters', 'translated', 3);
    const batch = await ended(id);
    expectWhole(batch, 'translated', 3);
    expect(called('POST /v1/messages/batches')).toBe(1);
    expect(batch.results?.[0]?.response?.body['object']).toBe('chat.completion');
  });

  it('runs as single calls what the provider let expire, each line once', async () => {
    const id = await submit('half', 'half', 40);
    const batch = await ended(id);
    expectWhole(batch, 'half', 40);
    expect(batch.request_counts).toEqual({ total: 40, completed: 40, failed: 0 });
    expect([called('POST /v1/batches'), called('POST /v1/chat/completions')]).toEqual([1, 20]);
    // Both ways of running a line report the same of it.
    expect(batch.usage).toMatchObject({ service_tier: 'default', iterations: [] });
    expect(sandbox.calls().repeated_prompts).toBe(0);
    const { charges, sum } = await charged(id);
    expect(charges).toBe(40);
    // Half of the lines at either price.
    expect(sum > priceOf(batch, BATCHED) && sum < priceOf(batch, SINGLE)).toBe(true);
  });

  it('runs as single calls what the provider refused as a whole', async () => {
    const batch = await ended(await submit('refused', 'refused', 10));
    expect(batch.request_counts).toEqual({ total: 10, completed: 10, failed: 0 });
    expect([called('POST /v1/batches'), called('POST /v1/chat/completions')]).toEqual([1, 10]);
  });

  it('tries lines again as single calls that failed for the moment', async () => {
    const id = await submit('flaky', 'flaky', 10);
    const batch = await ended(id);
    expect(batch.request_counts).toEqual({ total: 10, completed: 10, failed: 0 });
    expect(called('POST /v1/chat/completions')).toBe(10);
    expect(await charged(id)).toEqual({ charges: 10, sum: priceOf(batch, SINGLE) });
  });

  it('leaves lines alone that were refused for what they are', async () => {
    const batch = await ended(await submit('wrong', 'wrong', 5));
    expect(batch).toMatchObject({ status: 'completed', request_counts: { total: 5, completed: 0, failed: 5 } });
    expect(called('POST /v1/chat/completions')).toBe(0);
    expect(batch.results?.[0]?.error).toMatchObject({ type: 'invalid_request_error', error_type: 'invalid_request' });
  });

  it('tells, while it is asked after, that the provider takes a key again that it had refused', async () => {
    const manager = installation.client(installation.seed.managementKey);
    const key = { key: `csk-${'c'.repeat(40)}`, provider: 'cerebras' };
    const brought = await manager.request<{ data: { id: string } }>('POST', '/byok', key);
    const credential = brought.body.data.id;
    // For so long gateway and worker may go on with what they know.
    await delay(1_500);
    const id = await submit('own', 'own', 3);
    await eventually('it runs with the key', END_WITHIN_MS, async () => {
      const sql = `SELECT 1 FROM native_batches WHERE state = 'running' AND credential_id = $1`;
      return (await installation.database.firstRow({ sql, values: [credential] })) ?? undefined;
    });
    await installation.database.execute({
      sql: `UPDATE credentials SET refusals = 1, last_error_status = 401, last_error_at = now() - interval '2 minutes',
              skipped_until = now() - interval '1 minute' WHERE id = $1`,
      values: [credential],
    });
    await eventually('the key is known to be taken', END_WITHIN_MS, async () => {
      const { body } = await manager.request<{ data: { last_error: unknown } }>('GET', `/byok/${credential}`);
      return body.data.last_error === null ? true : undefined;
    });
    expect((await client.getBatch(id)).body.status).toBe('in_progress');
    expect(await ended(id)).toMatchObject({ status: 'completed', request_counts: { completed: 3 } });
    await manager.request('DELETE', `/byok/${credential}`);
    await manager.close();
  });

  it('is called off there when it is cancelled, and keeps what was finished', async () => {
    const id = await submit('slow', 'slow', 40);
    await eventually('the provider has answered some lines', END_WITHIN_MS, () =>
      Object.keys(sandbox.calls().by_prompt).length >= 2 ? true : undefined,
    );
    expect((await client.request('POST', `/batches/${id}/cancel`)).status).toBe(200);
    const batch = await ended(id);
    expectWhole(batch, 'slow', 40);
    const { completed } = batch.request_counts;
    expect(batch.status).toBe('cancelled');
    expect(completed).toBe(Object.keys(sandbox.calls().by_prompt).length);
    expect([called('POST /v1/batches/{id}/cancel'), called('POST /v1/chat/completions')]).toEqual([1, 0]);
    expect(await charged(id)).toEqual({ charges: completed, sum: priceOf(batch, BATCHED) });
  });

  it('is taken back when its time gets short, and ends with every line answered once', async () => {
    const id = await submit('slow', 'late', 40);
    await eventually('the provider has answered some lines', END_WITHIN_MS, () =>
      Object.keys(sandbox.calls().by_prompt).length >= 2 ? true : undefined,
    );
    await installation.database.execute({
      sql: 'UPDATE native_batches SET finish_by = now() WHERE batch_id = $1',
      values: [id],
    });
    const batch = await ended(id);
    expectWhole(batch, 'late', 40);
    expect(batch.request_counts).toEqual({ total: 40, completed: 40, failed: 0 });
    expect(called('POST /v1/batches/{id}/cancel')).toBe(1);
    expect([called('POST /v1/batches'), sandbox.calls().repeated_prompts]).toEqual([1, 0]);
    expect((await charged(id)).charges).toBe(40);
  });

  it('has its files removed there when it is deleted', async () => {
    const id = await submit('steady', 'removed', 3);
    await ended(id);
    const { status, body } = await client.request<{ deletion: object }>('DELETE', `/batches/${id}`);
    expect(status).toBe(200);
    expect(body.deletion).toMatchObject({ upstream: { provider: 'native-steady', status: 'deleted' } });
    expect(called('DELETE /v1/files/{id}')).toBe(2);
  });

  it.each([
    ['finds it again by its reference', 'steady', '/v1/chat/completions', 'POST /v1/batches'],
    ['finds it again by its size and the ids in it', 'letters', '/v1/messages', 'POST /v1/messages/batches'],
  ])(
    'is ordered once when the worker dies before the answer came: another %s',
    async (_how, model, endpoint, order) => {
      const taken = door.hold(order);
      const id = await submit(model, `orphan-${model}`, 30, endpoint);
      await taken;
      await installation.kill9('batch-worker');
      door.release();
      const batch = await ended(id, TAKEOVER_MS);
      expectWhole(batch, `orphan-${model}`, 30);
      expect(batch.request_counts).toEqual({ total: 30, completed: 30, failed: 0 });
      expect(called(order)).toBe(1);
      expect(sandbox.calls().repeated_prompts).toBe(0);
      expect(await charged(id)).toEqual({ charges: 30, sum: priceOf(batch, BATCHED) });
    },
  );

  it('leaves no order behind', async () => {
    const open = await installation.database.rows({
      sql: `SELECT reference FROM native_batches WHERE state <> 'done'`,
    });
    expect(open).toEqual([]);
  });
});
