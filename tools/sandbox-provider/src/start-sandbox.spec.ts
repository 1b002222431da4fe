import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { readSandboxEnv } from './sandbox.env';
import { startSandbox } from './start-sandbox';
import { SandboxClient } from './testing/sandbox-client';

const QUESTION = { model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello' }] };

describe(startSandbox.name, () => {
  let client: SandboxClient;

  beforeAll(async () => {
    client = await SandboxClient.start({ record: true });
  });

  beforeEach(() => client.sandbox.resetCalls());

  afterAll(() => client.close());

  it('says that it is up', async () => {
    expect((await client.get('/health')).status).toBe(200);
  });

  it('lists its models in the dialect of the caller', async () => {
    const openai = await client.get('/v1/models');
    expect(openai.body).toMatchObject({ object: 'list', data: [{ id: 'sandbox-chat', object: 'model' }, {}, {}, {}] });
    const anthropic = await client.get('/v1/models', { 'anthropic-version': '2023-06-01' });
    expect(anthropic.body).toMatchObject({
      data: [{ id: 'sandbox-chat', type: 'model' }, {}, {}, {}],
      has_more: false,
    });
  });

  it('marks every answer as its own', async () => {
    const { headers } = await client.post('/v1/chat/completions', QUESTION);
    expect(headers.get('x-sandbox')).toBe('sluice');
    expect(headers.get('x-request-id')).toMatch(/^req_/);
  });

  it('answers an unknown path with 404 and a known path under another method with 405', async () => {
    expect((await client.get('/v1/nowhere')).body.error).toMatchObject({ code: 'unknown_url', param: null });
    expect((await client.get('/v1/nowhere')).status).toBe(404);
    expect((await client.get('/v1/chat/completions')).status).toBe(405);
  });

  it('refuses a body that is no JSON object in the error shape of the dialect', async () => {
    const send = (path: string, body: string): Promise<Response> => client.fetch(path, { method: 'POST', body });
    const openai = await send('/v1/chat/completions', '{"model":');
    expect(openai.status).toBe(400);
    expect(await openai.json()).toEqual({
      error: { message: expect.any(String), type: 'invalid_request_error', param: null, code: null },
    });
    const anthropic = await send('/v1/messages', '[]');
    expect(anthropic.status).toBe(400);
    expect(await anthropic.json()).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } });
  });

  it('survives a body nested deeper than it can write', async () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    const body = `{"model":"m","messages":[{"role":"user","content":"x"}],"tools":${deep}}`;
    const response = await client.fetch('/v1/chat/completions', { method: 'POST', body });
    expect([400, 500]).toContain(response.status);
    expect((await client.get('/health')).status).toBe(200);
  });

  it('refuses a body beyond its bound', async () => {
    const form = new FormData();
    form.set('model', 'sandbox-transcription');
    form.set('file', new Blob([new Uint8Array(31 * 1024 * 1024)]), 'long.wav');
    const { status } = await client.form('/v1/audio/transcriptions', form);
    expect(status).toBe(413);
  });

  it('counts calls by route, and the same body and the same prompt as often as they came', async () => {
    await client.post('/v1/chat/completions', QUESTION);
    await client.post('/v1/chat/completions', QUESTION);
    await client.post('/v1/chat/completions', { ...QUESTION, temperature: 0 });
    await client.get('/v1/videos/unknown');
    const bodyHash = createHash('sha256').update(JSON.stringify(QUESTION)).digest('hex');
    const promptHash = createHash('sha256').update('Hello').digest('hex').slice(0, 12);
    expect((await client.get('/sandbox/calls')).body).toMatchObject({
      by_route: { 'POST /v1/chat/completions': 3, 'GET /v1/videos/{id}': 1 },
      by_body: { [bodyHash]: 2 },
      by_prompt: { [promptHash]: 3 },
      repeated_bodies: 1,
      repeated_prompts: 1,
      evicted: 0,
    });
    await client.delete('/sandbox/calls');
    expect(client.sandbox.calls()).toMatchObject({ total: 0, by_body: {}, by_prompt: {} });
  });

  it('keeps no hashes unless it was told to record', async () => {
    const silent = await SandboxClient.start();
    await silent.post('/v1/chat/completions', QUESTION);
    expect(silent.sandbox.calls()).toMatchObject({ total: 1, recording: false, by_body: {}, by_prompt: {} });
    await silent.close();
  });

  it('waits its latency before it answers', async () => {
    const slow = await SandboxClient.start({ latencyMs: 60 });
    const startedAt = performance.now();
    await slow.post('/v1/chat/completions', QUESTION);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(55);
    await slow.close();
  });

  it('finishes what is under way when it is told to stop', async () => {
    const stopping = await SandboxClient.start({ latencyMs: 150 });
    const answer = stopping.post('/v1/chat/completions', QUESTION);
    await stopping.until('/sandbox/calls', (calls) => calls.by_route['POST /v1/chat/completions'] === 1);
    const closed = stopping.sandbox.close(5_000);
    expect((await answer).status).toBe(200);
    await closed;
    await expect(stopping.get('/health')).rejects.toThrow('fetch failed');
  });

  it('survives a client that leaves in the middle of its body', async () => {
    const socket = connect(client.sandbox.port, '127.0.0.1');
    await new Promise<void>((resolve) => socket.once('connect', resolve));
    const head = 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{';
    await new Promise<void>((resolve) => socket.write(head, () => resolve()));
    socket.resetAndDestroy();
    expect((await client.post('/v1/chat/completions', QUESTION)).status).toBe(200);
  });
});

describe('the key of the sandbox', () => {
  let client: SandboxClient;

  beforeAll(async () => {
    client = await SandboxClient.start({ apiKey: 'sandbox-key' });
  });

  afterAll(() => client.close());

  it.each<Record<string, string>>([{ authorization: 'Bearer sandbox-key' }, { 'x-api-key': 'sandbox-key' }])(
    'opens with %o',
    async (headers) => {
      expect((await client.post('/v1/chat/completions', QUESTION, headers)).status).toBe(200);
    },
  );

  it.each<Record<string, string>>([
    {},
    { authorization: 'Bearer wrong' },
    { authorization: 'sandbox-key' },
    { 'x-api-key': '' },
  ])('refuses %o with 401 in the shape of the dialect', async (headers) => {
    const openai = await client.post('/v1/chat/completions', QUESTION, headers);
    expect(openai.status).toBe(401);
    expect(openai.body.error).toMatchObject({ type: 'invalid_request_error', code: 'invalid_api_key' });
    const anthropic = await client.post('/v1/messages', QUESTION, headers);
    expect(anthropic.status).toBe(401);
    expect(anthropic.body.error.type).toBe('authentication_error');
    expect(JSON.stringify(openai.body)).not.toContain('wrong');
  });

  it('leaves the health check open', async () => {
    expect((await client.get('/health')).status).toBe(200);
  });
});

describe(readSandboxEnv.name, () => {
  it('has defaults for everything', () => {
    expect(readSandboxEnv({})).toEqual({
      host: '127.0.0.1',
      port: 4010,
      apiKey: undefined,
      latencyMs: 0,
      record: false,
    });
  });

  it('names every malformed variable and no value', () => {
    const read = (): unknown =>
      readSandboxEnv({ SANDBOX_PORT: '70000', SANDBOX_LATENCY_MS: 'soon', SANDBOX_RECORD: 'maybe' });
    expect(read).toThrow(/SANDBOX_PORT.*SANDBOX_LATENCY_MS.*SANDBOX_RECORD/);
    expect(read).not.toThrow(/70000|soon|maybe/);
  });
});
