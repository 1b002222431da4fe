import { Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { SharedCredentials, upstreamError, type ProviderAdapter } from '@libs/inference';
import { aCatalogue, aModel, anEndpoint, aProvider } from '@libs/inference/testing';
import type { VideoJob } from '@libs/persistence';
import { VideoEndpoints } from './video-endpoints';

const KEY = new Secret('sk-own-0123456789abcdef');
const provider = aProvider({ protocol: 'film' });
const endpoint = anEndpoint({ provider, apis: ['video'] });
const model = aModel({ endpoints: [endpoint] });
const job = {
  id: 'gen-vid-1',
  organizationId: 'organization',
  workspaceId: 'workspace',
  apiKeyHash: 'hash',
  model: model.slug,
  provider: provider.slug,
  upstreamModel: endpoint.upstreamModel,
  region: endpoint.region,
  credentialId: 'own',
} as VideoJob;

describe(VideoEndpoints.name, () => {
  let told: unknown[];
  let uses: unknown[];
  let wasRefused: boolean;
  let endpoints: VideoEndpoints;

  beforeEach(() => {
    told = [];
    uses = [];
    wasRefused = false;
    endpoints = new VideoEndpoints({
      catalogue: () => aCatalogue(model),
      adapters: new Map([['film', { video: {} } as ProviderAdapter]]),
      shared: new SharedCredentials({ ACME_API_KEY: 'shared' }),
      vault: {
        open: async () => KEY,
        noteVerdict: (...verdict) => void told.push(verdict),
        wasRefused: (key) => key === KEY && wasRefused,
      },
      onKeyUse: (...use) => void uses.push(use),
    });
  });

  it('notes that the API key of a job is used', async () => {
    await endpoints.routeOf({ ...job, organizationId: 'organization', apiKeyHash: 'hash' });
    expect(uses).toEqual([['organization', 'hash']]);
  });

  it("passes on that a provider refused a caller's own key, and nothing else that it says", async () => {
    const { noteFailure } = await endpoints.routeOf(job);
    for (const status of [400, 404, 429, 500]) noteFailure(upstreamError(provider, status, {}, Buffer.alloc(0)));
    noteFailure(new AppError('provider_unavailable', 'The provider is not available'));
    expect(told).toEqual([]);
    noteFailure(upstreamError(provider, 401, {}, Buffer.alloc(0)));
    expect(told).toEqual([['own', job, KEY, 401]]);
  });

  it('passes on that a provider takes a key that it had refused, and not that it takes another', async () => {
    const { noteAnswer } = await endpoints.routeOf(job);
    noteAnswer();
    expect(told).toEqual([]);
    wasRefused = true;
    noteAnswer();
    expect(told).toEqual([['own', job, KEY, 'accepted']]);
  });

  it.each([
    ['global', 'europe-west4', 'https://europe-west4-aiplatform.googleapis.com/v1'],
    ['us-central1', 'us-central1', 'https://us-central1-aiplatform.googleapis.com/v1'],
    ['us-central1', 'europe-west4', null],
  ])('K3: makes films of an endpoint in %s with a service account of %s where both may', async (at, region, url) => {
    const account = { client_email: 'a@b', private_key: 'x', project_id: 'tenant', region };
    const baseUrl = 'https://aiplatform.googleapis.com/v1';
    const vertex = aProvider({ slug: 'google-vertex', protocol: 'google-vertex', baseUrl });
    const films = aModel({ endpoints: [anEndpoint({ provider: vertex, apis: ['video'], region: at })] });
    const own = new VideoEndpoints({
      catalogue: () => aCatalogue(films),
      adapters: new Map([['google-vertex', { video: {} } as ProviderAdapter]]),
      shared: new SharedCredentials({}),
      vault: { open: async () => new Secret(JSON.stringify(account)), noteVerdict: () => {}, wasRefused: () => false },
      onKeyUse: () => {},
    });
    const route = own.routeOf({ ...job, provider: 'google-vertex', region: at } as VideoJob);
    if (url === null) await expect(route).rejects.toMatchObject({ code: 'permission_denied' });
    else expect((await route).endpoint).toMatchObject({ region, provider: { baseUrl: url } });
  });

  it("says nothing of the operator's keys", async () => {
    const { noteFailure, noteAnswer } = await endpoints.routeOf({ ...job, credentialId: null });
    wasRefused = true;
    noteAnswer();
    noteFailure(upstreamError(provider, 401, {}, Buffer.alloc(0)));
    expect(told).toEqual([]);
  });
});
