import { Secret } from '@libs/contracts';
import { anEndpoint, aProvider, FakeUpstream, FIXTURE_KEY } from '../testing';
import { AzureProvider } from './azure.provider';
import { describeConformance } from './testing/conformance';
import { UpstreamHttp } from './upstream-http';

describeConformance('azure');
describeConformance('azure', 'responses');

describe(AzureProvider.name, () => {
  let upstream: FakeUpstream;
  let http: UpstreamHttp;

  beforeEach(async () => {
    upstream = await FakeUpstream.start();
    http = new UpstreamHttp();
  });

  afterEach(async () => {
    await upstream.close();
    await http.close();
  });

  it.each([
    ['chat', '/v1/chat/completions'],
    ['responses', '/v1/responses'],
    ['embed', '/v1/embeddings'],
    ['chatStream', '/v1/chat/completions'],
    ['responsesStream', '/v1/responses'],
  ] as const)('asks for %s with the key in the header of Azure', async (method, path) => {
    upstream.answers(200, '{}');
    const provider = aProvider({ protocol: 'azure', baseUrl: upstream.baseUrl });
    await new AzureProvider(http)[method]({
      endpoint: anEndpoint({ provider }),
      apiKey: new Secret(FIXTURE_KEY),
      body: Buffer.from('{}'),
      signal: new AbortController().signal,
      timeouts: { headersMs: 1_000, idleMs: 1_000, totalMs: 1_000 },
    });
    expect(upstream.requests[0]).toMatchObject({ path, headers: { 'api-key': FIXTURE_KEY } });
    expect(upstream.requests[0]!.headers).not.toHaveProperty('authorization');
  });
});
