import { SandboxClient, type JsonAnswer } from '../testing/sandbox-client';
import { MessageBatches } from './message-batches';

const PATH = '/v1/messages/batches';

describe(MessageBatches.name, () => {
  let client: SandboxClient;

  beforeAll(async () => {
    client = await SandboxClient.start();
  });

  afterAll(() => client.close());

  const request = (index: number, model = 'sandbox-chat', members: object = {}): object => ({
    custom_id: `line-${index}`,
    params: { model, max_tokens: 50, messages: [{ role: 'user', content: `question ${index}` }], ...members },
  });
  const create = async (requests: readonly object[]): Promise<JsonAnswer['body']> =>
    (await client.post(PATH, { requests })).body;
  const ended = (id: string): Promise<JsonAnswer['body']> =>
    client.until(`${PATH}/${id}`, ({ processing_status: status }) => status === 'ended');
  const resultsOf = async (batch: JsonAnswer['body']): Promise<JsonAnswer['body'][]> => {
    const text = await (await fetch(batch.results_url)).text();
    return text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  };

  it('answers every line once, under the address it names', async () => {
    const created = await create([request(0), request(1, 'm?status=529'), request(2, 'm', { max_tokens: undefined })]);
    expect(created).toMatchObject({
      id: expect.stringMatching(/^msgbatch_/),
      type: 'message_batch',
      processing_status: 'in_progress',
      request_counts: { processing: 3, succeeded: 0, errored: 0, canceled: 0, expired: 0 },
      results_url: null,
      ended_at: null,
    });
    const batch = await ended(created.id);
    expect(batch.request_counts).toEqual({ processing: 0, succeeded: 1, errored: 2, canceled: 0, expired: 0 });
    const [first, second, third] = await resultsOf(batch);
    expect(first).toMatchObject({ custom_id: 'line-0', result: { type: 'succeeded', message: { type: 'message' } } });
    expect(first.result.message.content[0].text).toMatch(/You wrote: question 0$/);
    expect(second.result).toMatchObject({
      type: 'errored',
      error: { type: 'error', error: { type: 'overloaded_error' } },
    });
    expect(third.result).toMatchObject({ type: 'errored', error: { error: { type: 'invalid_request_error' } } });
  });

  it('keeps what was done when it is canceled', async () => {
    const { id } = await create(Array.from({ length: 30 }, (_, index) => request(index, 'm?batch_ms=60000')));
    expect((await client.get(`${PATH}/${id}/results`)).status).toBe(400);
    expect((await client.delete(`${PATH}/${id}`)).status).toBe(400);
    const canceling = (await client.post(`${PATH}/${id}/cancel`, {})).body;
    expect(canceling).toMatchObject({ processing_status: 'canceling', cancel_initiated_at: expect.any(String) });
    const batch = await ended(id);
    const results = await resultsOf(batch);
    expect(results.map((line) => line.custom_id)).toEqual(Array.from({ length: 30 }, (_, index) => `line-${index}`));
    expect(results.at(-1).result).toEqual({ type: 'canceled' });
    expect(batch.request_counts.canceled).toBeGreaterThan(0);
  });

  it('expires half way when it is told to', async () => {
    const { id } = await create(Array.from({ length: 4 }, (_, index) => request(index, 'm?batch_end=expired')));
    const results = await resultsOf(await ended(id));
    expect(results.map((line) => line.result.type)).toEqual(['succeeded', 'succeeded', 'expired', 'expired']);
  });

  it('is listed, and forgotten once deleted', async () => {
    const { id } = await create([request(0)]);
    await ended(id);
    const list = (await client.get(PATH)).body;
    expect(list.data.map((batch: JsonAnswer['body']) => batch.id)).toContain(id);
    expect((await client.delete(`${PATH}/${id}`)).body).toEqual({ id, type: 'message_batch_deleted' });
    const { status, body } = await client.get(`${PATH}/${id}`);
    expect(status).toBe(404);
    expect(body.error.type).toBe('not_found_error');
  });

  it.each([
    ['no requests', {}],
    ['an empty list', { requests: [] }],
    ['a request that is no object', { requests: [1] }],
    ['a custom_id with a blank', { requests: [{ ...request(0), custom_id: 'a b' }] }],
    ['a custom_id that is repeated', { requests: [request(0), request(0)] }],
    ['a request without params', { requests: [{ custom_id: 'a' }] }],
  ])('refuses %s', async (_, body) => {
    const answer = await client.post(PATH, body);
    expect(answer.status).toBe(400);
    expect(answer.body.error.type).toBe('invalid_request_error');
  });
});
