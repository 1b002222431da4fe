import { randomBytes } from 'node:crypto';
import { FakeUpstream } from '@libs/inference/testing';
import { PROVIDER_KEY_VARIABLE, catalogueOf } from '../support/catalogue';
import type { ApiClient, BatchBody } from '../support/client';
import { eventually } from '../support/eventually';
import { type Installation, PROVIDER_KEY } from '../support/installation';
import { giveBack, shareInstallation } from '../support/shared-installations';

/** A key that its provider refuses. */
const OWN_KEY = `sk-own-${randomBytes(24).toString('hex')}`;
const ENDED = ['completed', 'failed', 'expired', 'cancelled'];

const ASKS_FOR_OWN_KEY: readonly (readonly [string, object])[] = [
  ['tools[0]', { tools: [{ type: 'image_generation' }] }],
  ['tools[0]', { tools: [{ type: 'file_search', vector_store_ids: ['vs_of_the_operator'] }] }],
  ['prompt.id', { prompt: { id: 'pmpt_of_another_tenant' } }],
];

let upstream: FakeUpstream;
let installation: Installation;
let client: ApiClient;

function catalogue(): string {
  const pricing = { prompt: '0.000001', completion: '0.000002' };
  const batchPricing = { prompt: '0.0000005', completion: '0.000001' };
  const provider = (slug: string, batch: string) => ({
    slug,
    name: slug,
    api_key_env: PROVIDER_KEY_VARIABLE,
    base_url: `${upstream.origin}/v1`,
    protocol: 'openai',
    batch,
  });
  const model = (slug: string, of: string) => ({
    slug: `own/${slug}`,
    name: slug,
    endpoints: [{ provider: of, upstream_model: 'talk', apis: ['responses'], pricing, batch_pricing: batchPricing }],
  });
  return JSON.stringify({
    ...(JSON.parse(catalogueOf([])) as object),
    providers: [provider('openai', 'managed'), provider('mistral', 'native')],
    models: [model('line-by-line', 'openai'), model('as-one-order', 'mistral')],
  });
}

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = (response, { headers }) => {
    const isRefused = headers.authorization === `Bearer ${OWN_KEY}`;
    const answer = isRefused ? { error: { message: 'Incorrect API key' } } : { id: 'file-1', object: 'file' };
    response.writeHead(isRefused ? 401 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  };
  installation = await shareInstallation({
    catalogue: catalogue(),
    apps: ['auth', 'batch-worker', 'gateway', 'credentials'],
  });
  client = installation.client();
  const manager = installation.client(installation.seed.managementKey);
  for (const provider of ['openai', 'mistral']) {
    const { status } = await manager.request('POST', '/byok', { key: OWN_KEY, provider });
    expect(status).toBe(200);
  }
  await manager.close();
}, 240_000);

afterAll(async () => {
  await client?.close();
  await giveBack(installation);
  await upstream?.close();
});

/** Returns the batch once it has ended, or what its acceptance was refused with. */
async function run(model: string, members: object): Promise<BatchBody> {
  const requests = [{ custom_id: 'one', body: { input: 'Draw.', max_output_tokens: 16, ...members } as never }];
  const { body } = await client.submitBatch({ endpoint: '/v1/responses', model, requests });
  return eventually('the batch ends', 60_000, async () => {
    const { body: batch } = await client.getBatch(body.id);
    return ENDED.includes(batch.status) ? batch : undefined;
  });
}

describe.each(['own/line-by-line', 'own/as-one-order'])('a batch of %s whose own key is refused', (model) => {
  it.each(ASKS_FOR_OWN_KEY)(
    'sends nothing with the operator’s key that only an own key can pay: %s %j',
    async (...of) => {
      const [param, members] = of;
      // From now on the refusal is known, so that the batch is not even tried with the key.
      const refused = async () =>
        (await client.request('POST', '/responses', { model, input: 'Hi', ...members })).status;
      await eventually('the key is felt', 20_000, async () => ((await refused()) === 401 ? true : undefined));
      upstream.requests.length = 0;
      const batch = await run(model, members);
      const sent = upstream.requests.filter(({ headers }) => headers.authorization === `Bearer ${PROVIDER_KEY}`);
      expect(sent.map(({ path, body }) => `${path} ${body}`)).toEqual([]);
      expect(JSON.stringify(batch)).toContain(param);
    },
  );
});
