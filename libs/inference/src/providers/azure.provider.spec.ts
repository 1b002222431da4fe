import { Secret } from '@libs/contracts';
import { anEndpoint, aProvider, FakeUpstream, FIXTURE_KEY } from '../testing';
import { AzureProvider } from './azure.provider';
import { describeConformance } from './testing/conformance';
import { UpstreamHttp } from '../wire/upstream-http';

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

  describe('the file of a batch', () => {
    const isReadyIn = (status: string): Promise<boolean> => {
      upstream.answers(200, JSON.stringify({ id: 'file-in1', object: 'file', purpose: 'batch', status }));
      const access = {
        endpoint: anEndpoint({ provider: aProvider({ protocol: 'azure', baseUrl: upstream.baseUrl }) }),
        apiKey: new Secret(FIXTURE_KEY),
        signal: new AbortController().signal,
        timeouts: { headersMs: 1_000, idleMs: 1_000, totalMs: 1_000 },
      };
      return new AzureProvider(http).batch.isReady!('file-in1', access);
    };

    it('is ordered from once Azure has read it', async () => {
      for (const status of ['pending', 'running']) expect(await isReadyIn(status)).toBe(false);
      expect(await isReadyIn('processed')).toBe(true);
      expect(upstream.requests[0]).toMatchObject({ method: 'GET', path: '/v1/files/file-in1' });
    });

    it('is refused where Azure could not read it', async () => {
      await expect(isReadyIn('error')).rejects.toMatchObject({ code: 'unprocessable', retryable: false });
    });
  });

  it('tells a batch for which too much was waiting from one that is refused', async () => {
    const polled = (code: string) => {
      const errors = { object: 'list', data: [{ code, message: 'No.', line: null, param: null }] };
      upstream.answers(200, JSON.stringify({ id: 'batch_1', status: 'failed', errors }));
      return new AzureProvider(http).batch.poll('batch_1', {
        endpoint: anEndpoint({ provider: aProvider({ protocol: 'azure', baseUrl: upstream.baseUrl }) }),
        apiKey: new Secret(FIXTURE_KEY),
        signal: new AbortController().signal,
        timeouts: { headersMs: 1_000, idleMs: 1_000, totalMs: 1_000 },
      });
    };
    expect(await polled('token_limit_exceeded')).toMatchObject({ state: 'ended', isTooMuchNow: true });
    expect(await polled('invalid_json_line')).toMatchObject({ state: 'ended', isTooMuchNow: false });
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
