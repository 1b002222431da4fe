import { SandboxClient, type JsonAnswer } from '../testing/sandbox-client';
import { OpenaiBatches } from './openai-batches';

const CHAT = '/v1/chat/completions';

interface Line {
  readonly custom_id: string;
  readonly response: { readonly status_code: number; readonly body: JsonAnswer['body'] } | null;
  readonly error: { readonly code: string } | null;
}

describe(OpenaiBatches.name, () => {
  let client: SandboxClient;

  beforeAll(async () => {
    client = await SandboxClient.start({ record: true });
  });

  afterAll(() => client.close());

  const line = (index: number, model = 'sandbox-chat', members: object = {}): object => ({
    custom_id: `line-${index}`,
    method: 'POST',
    url: CHAT,
    body: { model, messages: [{ role: 'user', content: `question ${index}` }] },
    ...members,
  });

  const upload = async (lines: readonly (object | string)[], purpose = 'batch'): Promise<string> => {
    const form = new FormData();
    form.set('purpose', purpose);
    const text = lines.map((entry) => (typeof entry === 'string' ? entry : JSON.stringify(entry))).join('\n');
    form.set('file', new Blob([text]), 'input.jsonl');
    return (await client.form('/v1/files', form)).body.id;
  };

  const create = async (lines: readonly (object | string)[], members: object = {}): Promise<JsonAnswer['body']> => {
    const body = { input_file_id: await upload(lines), endpoint: CHAT, completion_window: '24h', ...members };
    return (await client.post('/v1/batches', body)).body;
  };

  const finished = (id: string): Promise<JsonAnswer['body']> =>
    client.until(`/v1/batches/${id}`, ({ status }) => ['completed', 'failed', 'expired', 'cancelled'].includes(status));

  const linesOf = async (fileId: string | null): Promise<Line[]> => {
    if (fileId === null) return [];
    const text = await (await client.fetch(`/v1/files/${fileId}/content`)).text();
    return text
      .trim()
      .split('\n')
      .map((entry) => JSON.parse(entry));
  };

  it('keeps a file until it is deleted', async () => {
    const id = await upload([line(0)]);
    expect((await client.get(`/v1/files/${id}`)).body).toMatchObject({
      id,
      object: 'file',
      filename: 'input.jsonl',
      purpose: 'batch',
      bytes: JSON.stringify(line(0)).length,
    });
    expect(await (await client.fetch(`/v1/files/${id}/content`)).text()).toBe(JSON.stringify(line(0)));
    expect((await client.delete(`/v1/files/${id}`)).body).toEqual({ id, object: 'file', deleted: true });
    expect((await client.get(`/v1/files/${id}`)).status).toBe(404);
  });

  it('answers every line once, each with its own answer', async () => {
    const created = await create(
      Array.from({ length: 230 }, (_, index) => line(index)),
      { metadata: { job: 'a' } },
    );
    expect(created).toMatchObject({
      object: 'batch',
      status: 'validating',
      endpoint: CHAT,
      output_file_id: null,
      metadata: { job: 'a' },
    });
    const batch = await finished(created.id);
    expect(batch).toMatchObject({
      status: 'completed',
      model: 'sandbox-chat',
      errors: null,
      error_file_id: null,
      request_counts: { total: 230, completed: 230, failed: 0 },
      in_progress_at: expect.any(Number),
      finalizing_at: expect.any(Number),
      completed_at: expect.any(Number),
    });
    const lines = await linesOf(batch.output_file_id);
    expect(lines.map((entry) => entry.custom_id)).toEqual(Array.from({ length: 230 }, (_, index) => `line-${index}`));
    lines.forEach((entry, index) => {
      expect(entry).toMatchObject({ error: null, response: { status_code: 200 } });
      expect(entry.response?.body.choices[0].message.content).toMatch(new RegExp(`You wrote: question ${index}$`));
    });
    expect(client.sandbox.calls().repeated_prompts).toBe(0);
  });

  it('lists batches page by page, newest first', async () => {
    const ids: string[] = [];
    for (let index = 0; index < 3; index += 1) ids.unshift((await create([line(index)])).id);
    const first = (await client.get('/v1/batches?limit=2')).body;
    expect(first).toMatchObject({ has_more: true, last_id: ids[1], data: [{ id: ids[0] }, { id: ids[1] }] });
    const rest = (await client.get(`/v1/batches?limit=1&after=${first.last_id}`)).body;
    expect(rest.data).toMatchObject([{ id: ids[2] }]);
    expect((await client.get('/v1/batches?limit=0')).status).toBe(400);
  });

  it('can be seen at work', async () => {
    const { id } = await create(Array.from({ length: 20 }, (_, index) => line(index, 'm?batch_ms=400')));
    const seen = await client.until(
      `/v1/batches/${id}`,
      ({ status, request_counts: counts }) => status === 'in_progress' && counts.completed > 0 && counts.completed < 20,
    );
    expect(seen.request_counts.total).toBe(20);
    expect((await finished(id)).status).toBe('completed');
  });

  it('writes lines that fail to the error file, with what the live call would have answered', async () => {
    const lines = [line(0), line(1, 'm?status=429'), line(2, ''), line(3, 'm?reset=1'), line(4, 'm?bogus=1')];
    const batch = await finished((await create(lines)).id);
    expect(batch).toMatchObject({ status: 'completed', request_counts: { total: 5, completed: 1, failed: 4 } });
    const errors = await linesOf(batch.error_file_id);
    expect(
      errors.map((entry) => [entry.custom_id, entry.response?.status_code ?? null, entry.error?.code ?? null]),
    ).toEqual([
      ['line-1', 429, null],
      ['line-2', 400, null],
      ['line-3', null, 'sandbox_fault'],
      ['line-4', 400, null],
    ]);
    expect(errors[0]?.response?.body.error.type).toBe('rate_limit_error');
  });

  it.each([
    ['a line that is no JSON', ['{'], 'invalid_json_line'],
    ['a line without custom_id', [line(0, 'm', { custom_id: undefined })], 'missing_required_parameter'],
    ['a custom_id that is repeated', [line(0), line(0)], 'duplicate_custom_id'],
    ['another method', [line(0, 'm', { method: 'GET' })], 'invalid_method'],
    ['another endpoint', [line(0, 'm', { url: '/v1/embeddings' })], 'mismatched_endpoint'],
    ['a line without body', [line(0, 'm', { body: null })], 'missing_required_parameter'],
    ['no line at all', ['', ''], 'empty_file'],
  ])('fails for %s', async (_, lines, code) => {
    const batch = await finished((await create(lines)).id);
    expect(batch).toMatchObject({
      status: 'failed',
      output_file_id: null,
      errors: { object: 'list', data: [{ code }] },
    });
    expect(batch.failed_at).toEqual(expect.any(Number));
  });

  it('keeps what was done when it is cancelled, and names the rest', async () => {
    const { id } = await create(Array.from({ length: 40 }, (_, index) => line(index, 'm?batch_ms=60000')));
    await client.until(`/v1/batches/${id}`, ({ status }) => status === 'in_progress');
    expect((await client.post(`/v1/batches/${id}/cancel`, {})).body.status).toBe('cancelling');
    const batch = await finished(id);
    expect(batch).toMatchObject({ status: 'cancelled', cancelled_at: expect.any(Number) });
    const done = await linesOf(batch.output_file_id);
    const rest = await linesOf(batch.error_file_id);
    expect(rest.length).toBeGreaterThan(0);
    expect(rest.every((entry) => entry.error?.code === 'batch_cancelled')).toBe(true);
    expect(new Set([...done, ...rest].map((entry) => entry.custom_id)).size).toBe(40);
    expect((await client.post(`/v1/batches/${id}/cancel`, {})).status).toBe(409);
  });

  it('expires half way when it is told to', async () => {
    const batch = await finished(
      (await create(Array.from({ length: 10 }, (_, index) => line(index, 'm?batch_end=expired')))).id,
    );
    expect(batch).toMatchObject({ status: 'expired', request_counts: { total: 10, completed: 5, failed: 5 } });
    expect((await linesOf(batch.error_file_id)).map((entry) => entry.error?.code)).toEqual(
      Array.from({ length: 5 }, () => 'batch_expired'),
    );
  });

  it('fails as a whole when it is told to', async () => {
    const batch = await finished((await create([line(0, 'm?batch_end=failed')])).id);
    expect(batch).toMatchObject({ status: 'failed', errors: { data: [{ code: 'sandbox_failure' }] } });
  });

  it('runs embeddings and responses too', async () => {
    for (const endpoint of ['/v1/embeddings', '/v1/responses']) {
      const entry = { custom_id: 'a', method: 'POST', url: endpoint, body: { model: 'm', input: 'x' } };
      const batch = await finished((await create([entry], { endpoint })).id);
      expect((await linesOf(batch.output_file_id))[0]?.response?.status_code).toBe(200);
    }
  });

  it.each([
    ['endpoint', { endpoint: '/v1/videos' }],
    ['completion_window', { completion_window: '1h' }],
    ['metadata', { metadata: 'x' }],
  ])('names %s when it is at fault', async (param, members) => {
    expect((await create([line(0)], members)).error.param).toBe(param);
  });

  it('refuses a file that is unknown or meant for something else', async () => {
    const order = { endpoint: CHAT, completion_window: '24h' };
    expect((await client.post('/v1/batches', { ...order, input_file_id: 'file-x' })).status).toBe(404);
    const other = await upload([line(0)], 'assistants');
    expect((await client.post('/v1/batches', { ...order, input_file_id: other })).status).toBe(400);
    expect((await client.get('/v1/batches/unknown')).status).toBe(404);
  });
});
