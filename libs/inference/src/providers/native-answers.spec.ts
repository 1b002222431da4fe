import { Cancellation } from '../model/cancellation';
import { anEndpoint } from '../testing';
import { AnthropicBatches } from './anthropic-batch';
import { GoogleBatches } from './google-batch';
import { MistralBatches } from './mistral-batch';
import type { NativeBatchAccess } from './native-batch';
import { OpenAiBatches } from './openai-batch';
import type { UpstreamHttp } from '../wire/upstream-http';

const MANNERS = { headersOf: () => [], refusal: () => new Error('refused') as never };
const ACCESS = { endpoint: anEndpoint(), signal: new Cancellation() } as unknown as NativeBatchAccess;

/** A host that answers everything with this object. */
const answering = (body: object): UpstreamHttp =>
  ({ request: async () => ({ status: 200, headers: {}, body: Buffer.from(JSON.stringify(body)) }) }) as never;

describe('the number of answers that a provider counts in a job', () => {
  it.each([
    [
      'OpenAI',
      (http: UpstreamHttp) => new OpenAiBatches(http, { ...MANNERS, endpoints: {}, mostLines: 1 }),
      { id: 'b', status: 'completed', request_counts: { total: 9, completed: 7, failed: 2 } },
    ],
    [
      'Anthropic',
      (http: UpstreamHttp) => new AnthropicBatches(http, MANNERS),
      { id: 'b', processing_status: 'ended', request_counts: { succeeded: 7, errored: 1, canceled: 0, expired: 1 } },
    ],
    [
      'Mistral',
      (http: UpstreamHttp) => new MistralBatches(http, MANNERS),
      { id: 'b', status: 'SUCCESS', total_requests: 9, succeeded_requests: 7, failed_requests: 2 },
    ],
    [
      'Google',
      (http: UpstreamHttp) => new GoogleBatches(http, MANNERS),
      {
        name: 'batches/b',
        metadata: { state: 'BATCH_STATE_SUCCEEDED', batchStats: { requestCount: '9', successfulRequestCount: '7' } },
      },
    ],
  ])('is read of %s', async (_name, batchesOf, job) => {
    expect(await batchesOf(answering(job)).poll('b', ACCESS)).toMatchObject({ state: 'ended', answers: 7 });
  });
});
