import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  createProviderAdapters,
  NativeBatchCaller,
  parseCatalogue,
  UpstreamHttp,
  type CallableApi,
  type CallerParts,
  type Endpoint,
} from '@libs/inference';

const folder = join(__dirname, '..', 'catalog');
const catalogue = parseCatalogue(
  readdirSync(folder)
    .filter((name) => name.endsWith('.yaml') && name !== 'sandbox.yaml')
    .map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') })),
);
const bodies: Readonly<Record<string, object>> = {
  chat: { messages: [{ role: 'user', content: 'Hello' }], max_tokens: 50 },
  responses: { input: 'Hello', max_output_tokens: 50 },
  messages: { messages: [{ role: 'user', content: 'Hello' }], max_tokens: 50 },
  embeddings: { input: 'Hello' },
};
const callers = Object.keys(bodies) as CallableApi[];
const http = new UpstreamHttp();
const caller = new NativeBatchCaller({
  adapters: createProviderAdapters(http),
  // No order is sent here.
  credentials: {} as CallerParts['credentials'],
  clock: Date.now,
});
const natives = catalogue
  .models()
  .flatMap(({ slug, endpoints }) => endpoints.map((endpoint) => ({ slug, endpoint })))
  .filter(({ endpoint }) => endpoint.provider.batch === 'native');

afterAll(() => http.close());

/** APIs of callers whose batches this endpoint can run at all. */
function apisOf({ apis }: Endpoint): readonly CallableApi[] {
  if (apis.includes('embeddings')) return ['embeddings'];
  return apis.some((api) => bodies[api]) ? callers.filter((api) => api !== 'embeddings') : [];
}

/** Azure's batches take no responses: those lines are single calls at the standard price. */
function isManagedAtAzure(api: CallableApi, { provider }: Endpoint): boolean {
  return api === 'responses' && provider.slug === 'azure';
}

describe('the batch prices that the repository ships', () => {
  it('use the batch API of every provider that has one', () => {
    const slugs = new Set(natives.map(({ endpoint }) => endpoint.provider.slug));
    expect([...slugs].toSorted()).toEqual(['anthropic', 'azure', 'google-ai-studio', 'groq', 'mistral', 'openai']);
  });

  it('are lower only where the provider runs the batch, for every API of callers', () => {
    const wrong = natives.flatMap(({ slug, endpoint }) => {
      const { pricing, batchPricing, provider } = endpoint;
      const isCheaper = batchPricing.prompt + batchPricing.completion < pricing.prompt + pricing.completion;
      return apisOf(endpoint)
        .filter((api) => caller.isPreferred(api, endpoint) !== isCheaper && !isManagedAtAzure(api, endpoint))
        .map((api) => `${slug} at ${provider.slug} for ${api}`);
    });
    expect(wrong).toEqual([]);
  });

  it('belong to orders that can be written', () => {
    let written = 0;
    for (const { slug, endpoint } of natives) {
      for (const api of apisOf(endpoint).filter((one) => caller.isPreferred(one, endpoint))) {
        const lane = caller.laneOf(api, endpoint)!;
        expect(lane.batches.mostLines).toBeGreaterThan(0);
        const line = lane.write('line-1', Buffer.from(JSON.stringify({ model: slug, ...bodies[api] })));
        expect(Object.values(JSON.parse(line.toString()) as object)).toContain('line-1');
        written += 1;
      }
    }
    expect(written).toBeGreaterThan(200);
  });
});
