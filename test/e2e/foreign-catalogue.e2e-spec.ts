import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { FakeUpstream } from '@libs/inference/testing';
import { chatRequests, linesOf } from '../support/batch-lines';
import { catalogueOf, type TestPrices } from '../support/catalogue';
import { findViolations } from '../support/checker';
import type { ApiClient, BatchBody } from '../support/client';
import { amountOf, textOf } from '../support/decimal';
import { eventually } from '../support/eventually';
import { readBooks } from '../support/history';
import { Installation } from '../support/installation';
import { Upstream } from '../support/upstream';
import { Operator } from '../support/operator';
import { expectRefusal } from './refusals';

const BOREAL_KEY = `boreal-${'b'.repeat(20)}`;
const ZEPHYR_KEY = `zephyr-${'z'.repeat(20)}`;
const BOREAL_PRICES = { prompt: '0.00000031', completion: '0.00000093' };
const BATCH_PRICES = { prompt: '0.0000000775', completion: '0.000000171' };
/** A change of the files must be felt within this. */
const FELT_WITHIN_MS = 5_000;

let boreal: Upstream;
let zephyr: FakeUpstream;
let folder: string;
let installation: Installation;
let client: ApiClient;

/** As somebody would write it who has never seen our own catalogue. */
const borealFile = (prices: TestPrices = BOREAL_PRICES): string => `
# What the ice can compute. Prices as agreed in spring.
providers:
  - slug: boreal-compute
    name: "Boreal Compute AS"
    base_url: ${boreal.baseUrl('steady')}/
    protocol: openai
    api_key_env: BOREAL_TOKEN
    data_policy: { retains_prompts: true, trains_on_prompts: false }
    max_concurrency: 12
models:
  - slug: northern/aurora-7b
    name: Aurora 7B (ледяной)
    description: >
      A model that nobody
      has heard of.
    context_length: 8192
    supported_parameters: [temperature]
    endpoints:
      - provider: boreal-compute
        upstream_model: aurora-7b-q4
        apis: [chat]
        pricing: { prompt: "${prices.prompt}", completion: "${prices.completion}" }
        batch_pricing:
          prompt: "${BATCH_PRICES.prompt}"
          completion: "${BATCH_PRICES.completion}"
`;

const zephyrFile = (): string => `
providers:
  - { slug: zephyr, name: Zephyr, base_url: "${zephyr.origin}/deep/path/v2", protocol: openai, api_key_env: ZEPHYR_TOKEN, batch: none,
      headers: { X-Zephyr-Project: "p-17", X-Zephyr-Region: north } }
  - { slug: keyless, name: Keyless, base_url: "${zephyr.origin}/keyless", protocol: openai, api_key_env: NOBODY_SET_THIS }
models:
  - slug: winds/breeze-embed
    name: Breeze
    endpoints:
      - { provider: zephyr, upstream_model: breeze@3, apis: [embeddings], pricing: { prompt: "0.00000002" } }
  - slug: winds/gale
    name: Gale
    endpoints:
      - { provider: zephyr, upstream_model: gale, apis: [chat], pricing: { prompt: "0.000001", completion: "0.000002", request: "0.001" } }
  - slug: winds/still
    name: Still
    endpoints:
      - { provider: keyless, upstream_model: still, apis: [chat], pricing: { prompt: "0", completion: "0" } }
`;

/** Replaced as editors and deployments do it: written beside, then moved into place. */
function put(name: string, text: string): void {
  const temporary = join(folder, `.${name}.tmp`);
  writeFileSync(temporary, text);
  renameSync(temporary, join(folder, name));
}

beforeAll(async () => {
  boreal = await Upstream.start({ steady: {} });
  zephyr = await FakeUpstream.start();
  folder = mkdtempSync(join(tmpdir(), 'sluice-foreign-'));
  put('10-boreal.yaml', borealFile());
  put('20-zephyr.yml', zephyrFile());
  writeFileSync(join(folder, 'README.md'), '# not a catalogue');
  mkdirSync(join(folder, 'old.yaml'));
  installation = await Installation.start({
    catalogue: catalogueOf([]),
    apps: ['auth', 'batch-worker', 'gateway'],
    environment: { CATALOG_PATH: folder, BOREAL_TOKEN: BOREAL_KEY, ZEPHYR_TOKEN: ZEPHYR_KEY },
  });
  client = installation.client();
}, 240_000);

afterAll(async () => {
  await client?.close();
  await installation?.stop();
  await zephyr?.close();
  await boreal?.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Listed {
  readonly data: readonly {
    readonly id: string;
    readonly name: string;
    readonly pricing: Readonly<Record<string, string>>;
  }[];
}

const listed = async (path = '/models'): Promise<Listed['data']> =>
  (await client.request<Listed>('GET', path)).body.data;
const idsOf = async (path?: string): Promise<string[]> => (await listed(path)).map(({ id }) => id);
const chatOf = (model: string): Readonly<Record<string, unknown>> => ({
  model,
  messages: [{ role: 'user', content: 'x'.repeat(400) }],
  max_tokens: 16,
});

interface Answered {
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number; readonly cost: string };
}

/** What the usage of an answer costs by a price list. */
function costBy({ prompt, completion }: TestPrices, { usage }: Answered): string {
  return textOf(
    amountOf(prompt) * BigInt(usage.prompt_tokens) + amountOf(completion) * BigInt(usage.completion_tokens),
  );
}

async function runBatch(model: string, tag: string): Promise<{ batch: BatchBody; violations: object[] }> {
  const lines = linesOf(tag, 12);
  const { status, body } = await client.submitBatch({
    endpoint: '/v1/chat/completions',
    model,
    requests: chatRequests(lines),
  });
  expect(status).toBe(202);
  const batch = await eventually('the batch ends', 20_000, async () => {
    const { body: now } = await client.getBatch(body.id);
    return now.finalized_at === null ? delay(50).then(() => undefined) : now;
  });
  const markers = new Set(lines.map(({ marker }) => marker));
  const calls = (await boreal.calls()).filter(({ marker }) => markers.has(marker));
  const books = await readBooks(installation.database, batch.id);
  const history = {
    endpoint: '/v1/chat/completions' as const,
    lines,
    prices: BATCH_PRICES,
    batch,
    statuses: [batch.status],
    calls,
    books,
  };
  return { batch, violations: findViolations(history) };
}

describe('a catalogue that somebody else wrote', () => {
  it('is listed with all its models, from all its files, and no others', async () => {
    expect((await idsOf()).toSorted()).toEqual([
      'northern/aurora-7b',
      'winds/breeze-embed',
      'winds/gale',
      'winds/still',
    ]);
    expect(await idsOf('/models?batch=true')).toEqual(['northern/aurora-7b:batch', 'winds/still:batch']);
    expect(await idsOf('/embeddings/models')).toEqual(['winds/breeze-embed']);
    const aurora = (await listed()).find(({ id }) => id === 'northern/aurora-7b');
    expect(aurora).toMatchObject({ name: 'Aurora 7B (ледяной)', pricing: BOREAL_PRICES });
  });

  it('names the providers of the installation, and no others', async () => {
    const { body } = await client.request<{ data: { slug: string; name: string }[] }>('GET', '/providers');
    expect(body.data.map(({ slug }) => slug).toSorted()).toEqual(['boreal-compute', 'keyless', 'zephyr']);
  });

  it('is chatted with at its prices', async () => {
    const answer = await client.request<Answered & { provider: string; model: string }>(
      'POST',
      '/chat/completions',
      chatOf('northern/aurora-7b'),
    );
    expect(answer).toMatchObject({ status: 200, body: { provider: 'Boreal Compute AS', model: 'northern/aurora-7b' } });
    expect(amountOf(answer.body.usage.cost)).toBe(amountOf(costBy(BOREAL_PRICES, answer.body)));
  });

  it('is asked with the key, the headers, the path and the name of model that it says', async () => {
    zephyr.answers(
      200,
      JSON.stringify({
        object: 'list',
        model: 'x',
        data: [{ object: 'embedding', index: 0, embedding: [0.5] }],
        usage: { prompt_tokens: 3, total_tokens: 3 },
      }),
    );
    const answer = await client.request<Answered>('POST', '/embeddings', { model: 'winds/breeze-embed', input: 'air' });
    expect(answer.status).toBe(200);
    expect(amountOf(answer.body.usage.cost)).toBe(amountOf('0.00000006'));
    const asked = zephyr.requests.at(-1)!;
    expect(asked.path).toBe('/deep/path/v2/embeddings');
    expect(asked.headers).toMatchObject({
      authorization: `Bearer ${ZEPHYR_KEY}`,
      'x-zephyr-project': 'p-17',
      'x-zephyr-region': 'north',
    });
    expect(JSON.parse(asked.body)).toMatchObject({ model: 'breeze@3', input: 'air' });
  });

  it('may charge for each request', async () => {
    const choice = { index: 0, message: { role: 'assistant', content: 'Hoo.' }, finish_reason: 'stop' };
    zephyr.answers(
      200,
      JSON.stringify({
        id: 'u',
        object: 'chat.completion',
        created: 1,
        model: 'x',
        choices: [choice],
        usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 },
      }),
    );
    const answer = await client.request<Answered>('POST', '/chat/completions', chatOf('winds/gale'));
    expect(amountOf(answer.body.usage.cost)).toBe(amountOf('0.001014'));
  });

  it('runs batches at their own prices', async () => {
    const { batch, violations } = await runBatch('northern/aurora-7b', 'foreign');
    expect(batch).toMatchObject({
      status: 'completed',
      model: 'northern/aurora-7b',
      request_counts: { total: 12, completed: 12, failed: 0 },
    });
    expect(violations).toEqual([]);
  });

  it('offers nothing of a provider whose key the operator did not set', async () => {
    const already = zephyr.requests.length;
    const chat = await client.chat(chatOf('winds/still'));
    expectRefusal({ ...chat, body: chat.text }, 404);
    const requests = chatRequests(linesOf('still', 1));
    const batch = await client.submitBatch({ endpoint: '/v1/chat/completions', model: 'winds/still', requests });
    expectRefusal({ ...batch, body: batch.text }, 404);
    expect(zephyr.requests).toHaveLength(already);
  });

  it('runs no batches where it says that there are none', async () => {
    const requests = chatRequests(linesOf('gale', 1));
    const answer = await client.submitBatch({ endpoint: '/v1/chat/completions', model: 'winds/gale', requests });
    expectRefusal({ ...answer, body: answer.text }, 400);
  });

  it('passes the check of the command line', async () => {
    expect(await new Operator(installation).run('catalog', 'check', folder)).toEqual({
      ok: true,
      providers: 3,
      models: 4,
      endpoints: 4,
    });
  });
});

describe('a catalogue that changes', () => {
  const priceOf = async (id: string): Promise<string | undefined> =>
    (await listed()).find((entry) => entry.id === id)?.pricing['prompt'];

  it('changes prices without a restart, from the next call on', async () => {
    const dearer = { prompt: '0.0000124', completion: '0.0000372' };
    put('10-boreal.yaml', borealFile(dearer));
    await eventually('the new price is listed', FELT_WITHIN_MS, async () =>
      (await priceOf('northern/aurora-7b')) === dearer.prompt ? true : undefined,
    );
    const { body } = await client.request<Answered>('POST', '/chat/completions', chatOf('northern/aurora-7b'));
    expect(amountOf(body.usage.cost)).toBe(amountOf(costBy(dearer, body)));
  });

  it('brings a model that can be used at once, in batches too', async () => {
    put(
      '30-new.yaml',
      borealFile().replaceAll('boreal-compute', 'boreal-south').replaceAll('northern/aurora-7b', 'southern/aurora-8b'),
    );
    await eventually('the new model is listed', FELT_WITHIN_MS, async () =>
      (await idsOf()).includes('southern/aurora-8b') ? true : undefined,
    );
    expect((await client.chat(chatOf('southern/aurora-8b'))).status).toBe(200);
    const { batch, violations } = await runBatch('southern/aurora-8b', 'new-model');
    expect(batch.status).toBe('completed');
    expect(violations).toEqual([]);
  });

  it('takes a model away', async () => {
    rmSync(join(folder, '30-new.yaml'));
    await eventually('the model is gone', FELT_WITHIN_MS, async () =>
      (await idsOf()).includes('southern/aurora-8b') ? undefined : true,
    );
    const answer = await client.chat(chatOf('southern/aurora-8b'));
    expectRefusal({ ...answer, body: answer.text }, 400);
  });

  const bads: readonly (readonly [string, () => string])[] = [
    ['is no YAML', () => 'providers: [ {{{'],
    [
      'names a provider that does not exist',
      () => borealFile().replace('provider: boreal-compute', 'provider: nobody'),
    ],
    ['has a price that is a number', () => borealFile().replace(`"${BOREAL_PRICES.prompt}"`, BOREAL_PRICES.prompt)],
    ['has a price below nothing', () => borealFile().replace(`"${BOREAL_PRICES.prompt}"`, '"-1"')],
    ['has a member nobody knows', () => borealFile().replace('context_length: 8192', 'kontext_length: 8192')],
    ['has a protocol nobody speaks', () => borealFile().replace('protocol: openai', 'protocol: morse')],
    ['has a model without endpoints', () => borealFile().replace(/endpoints:[^]*$/, 'endpoints: []\n')],
  ];

  it.each(bads)('to one that %s is not taken, and the earlier one goes on', async (_case, text) => {
    put('10-boreal.yaml', borealFile());
    await eventually('the good one is taken', FELT_WITHIN_MS, async () =>
      (await priceOf('northern/aurora-7b')) === BOREAL_PRICES.prompt ? true : undefined,
    );
    const before = await listed();
    const logged = (): number =>
      readFileSync(join(installation.folder, 'gateway.log'), 'utf8').split('A changed catalogue was not taken').length;
    const already = logged();
    put('10-boreal.yaml', text());
    await eventually('the operator is told', FELT_WITHIN_MS, () => (logged() > already ? true : undefined));
    expect(await listed()).toEqual(before);
    expect((await client.chat(chatOf('northern/aurora-7b'))).status).toBe(200);
  });

  it('is taken again once it is mended', async () => {
    const mended = { prompt: '0.0000005', completion: '0.000001' };
    put('10-boreal.yaml', borealFile(mended));
    await eventually('the mended one is taken', FELT_WITHIN_MS, async () =>
      (await priceOf('northern/aurora-7b')) === mended.prompt ? true : undefined,
    );
    expect(['gateway', 'batch-worker'].map((name) => installation.deathsOf(name))).toEqual([0, 0]);
  });

  it('is read at once when the operator asks for it', async () => {
    put('10-boreal.yaml', borealFile());
    process.kill(installation.pidOf('gateway'), 'SIGHUP');
    await eventually('it is taken', FELT_WITHIN_MS, async () =>
      (await priceOf('northern/aurora-7b')) === BOREAL_PRICES.prompt ? true : undefined,
    );
  });

  it('keeps no key of a provider in any log', () => {
    for (const name of ['gateway', 'batch-worker', 'auth']) {
      const log = readFileSync(join(installation.folder, `${name}.log`), 'utf8');
      for (const key of [BOREAL_KEY, ZEPHYR_KEY]) expect(log.includes(key)).toBe(false);
    }
  });
});
