import { once } from 'node:events';
import { request } from 'node:http';
import { SandboxClient } from '../testing/sandbox-client';

const CHAT = '/v1/chat/completions';

describe('a behaviour in the model name', () => {
  let client: SandboxClient;

  beforeAll(async () => {
    client = await SandboxClient.start();
  });

  afterAll(() => client.close());

  const ask = (settings: string, members: object = {}): object => ({
    model: `sandbox-chat?${settings}`,
    messages: [{ role: 'user', content: `How about ${settings}?` }],
    ...members,
  });

  /** What arrived before the connection ended, and how it ended. */
  const raw = async (
    body: object,
    enough = Infinity,
  ): Promise<{ status: number | null; text: string; isWhole: boolean }> => {
    const call = request(`${client.sandbox.url}${CHAT}`, { method: 'POST' });
    call.end(JSON.stringify(body));
    const outcome = { status: null as number | null, text: '', isWhole: false };
    try {
      const [response] = await once(call, 'response');
      outcome.status = response.statusCode;
      for await (const chunk of response) {
        outcome.text += String(chunk);
        if (outcome.text.length >= enough) break;
      }
      outcome.isWhole = response.complete;
    } catch (error) {
      expect((error as NodeJS.ErrnoException).code).toBe('ECONNRESET');
    }
    call.destroy();
    return outcome;
  };

  const wholeText = async (members: object): Promise<string> =>
    (await client.fetch(CHAT, { method: 'POST', body: JSON.stringify(ask('words=8', members)) })).text();

  it('is not part of the model that the answer names', async () => {
    expect((await client.post(CHAT, ask('latency_ms=0'))).body.model).toBe('sandbox-chat');
  });

  it.each([
    [429, 'rate_limit_error', 'rate_limit_error'],
    [402, 'insufficient_quota', 'billing_error'],
    [500, 'server_error', 'api_error'],
    [529, 'server_error', 'overloaded_error'],
  ])('answers the status %i in both dialects', async (status, openaiType, anthropicType) => {
    const openai = await client.post(CHAT, ask(`status=${status}&retry_after=7`));
    expect(openai.status).toBe(status);
    expect(openai.headers.get('retry-after')).toBe('7');
    expect(openai.body.error.type).toBe(openaiType);
    const anthropic = await client.post('/v1/messages', ask(`status=${status}`));
    expect(anthropic.status).toBe(status);
    expect(anthropic.headers.get('retry-after')).toBeNull();
    expect(anthropic.body.error.type).toBe(anthropicType);
  });

  it('fails the first calls of the same body and no others', async () => {
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 4; attempt += 1) {
      statuses.push((await client.post(CHAT, ask('fail_times=2'))).status);
    }
    expect(statuses).toEqual([500, 500, 200, 200]);
    expect((await client.post(CHAT, ask('fail_times=2', { seed: 1 }))).status).toBe(500);
  });

  it('fails a share of calls, the same ones in every run', async () => {
    const run = async (): Promise<number[]> => {
      client.sandbox.resetCalls();
      const statuses: number[] = [];
      for (let seed = 0; seed < 100; seed += 1) {
        statuses.push((await client.post(CHAT, ask('fail_rate=0.3&status=503', { seed }))).status);
      }
      return statuses;
    };
    const first = await run();
    const failures = first.filter((status) => status === 503).length;
    expect(failures).toBeGreaterThan(15);
    expect(failures).toBeLessThan(45);
    expect(await run()).toEqual(first);
  });

  it.each([{ stream: true }, { stream: false }])('cuts an answer in its middle with %o', async (members) => {
    const whole = await wholeText(members);
    const { status, text, isWhole } = await raw(ask('cut_after=2&words=8', members));
    expect(status).toBe(200);
    expect(isWhole).toBe(false);
    expect(text.length).toBeGreaterThan(0);
    expect(text.length).toBeLessThan(whole.length);
    if (members.stream) expect(text.match(/data: /g)).toHaveLength(2);
  });

  it('cuts a stream before its first event', async () => {
    expect(await raw(ask('cut_after=0', { stream: true }))).toEqual({ status: 200, text: '', isWhole: false });
  });

  it('closes the connection without a byte', async () => {
    expect(await raw(ask('reset=1'))).toEqual({ status: null, text: '', isWhole: false });
  });

  it.each([{ stream: true }, { stream: false }])('leaves an answer hanging in its middle with %o', async (members) => {
    const { text, isWhole } = await raw(ask('stall_after=3', members), 100);
    expect(text.length).toBeGreaterThanOrEqual(100);
    expect(isWhole).toBe(false);
  });

  it('never answers, and still stops when it is told to', async () => {
    const hanging = await SandboxClient.start();
    const answer = hanging.post(CHAT, ask('hang=1')).catch((error: unknown) => error);
    await hanging.until('/sandbox/calls', (calls) => calls.by_route[`POST ${CHAT}`] === 1);
    await hanging.close();
    expect(await answer).toMatchObject({ message: 'fetch failed' });
  });

  it('answers a body that is no JSON', async () => {
    const { status, text, isWhole } = await raw(ask('malformed=1'));
    expect({ status, isWhole }).toEqual({ status: 200, isWhole: true });
    expect(() => JSON.parse(text)).toThrow(SyntaxError);
  });

  it('sends one event that is no JSON among good ones', async () => {
    const events = await client.stream(CHAT, ask('malformed=1', { stream: true }));
    const good = events.map(({ data }) => data === '[DONE]' || isJson(data));
    expect(good).toEqual([true, false, ...Array.from({ length: events.length - 2 }, () => true)]);
  });

  it('reports an error in mid-stream the way each dialect does', async () => {
    const chat = await client.stream(CHAT, ask('error_after=2', { stream: true }));
    expect(chat).toHaveLength(3);
    expect(JSON.parse(chat[2]?.data ?? '')).toMatchObject({ error: { type: 'server_error' } });
    const messages = await client.stream('/v1/messages', ask('error_after=2', { stream: true, max_tokens: 9 }));
    expect(messages[2]).toMatchObject({ event: 'error' });
    const responses = await client.stream('/v1/responses', {
      model: 'sandbox-chat?error_after=3',
      input: 'x',
      stream: true,
    });
    expect(JSON.parse(responses[3]?.data ?? '')).toMatchObject({
      type: 'response.failed',
      sequence_number: 3,
      response: { status: 'failed', error: { code: 'server_error' } },
    });
  });

  it('leaves usage out', async () => {
    expect((await client.post(CHAT, ask('no_usage=1'))).body).not.toHaveProperty('usage');
    const events = await client.stream(
      CHAT,
      ask('no_usage=1', { stream: true, stream_options: { include_usage: true } }),
    );
    expect(events.some(({ data }) => data.includes('prompt_tokens'))).toBe(false);
  });

  it('reports cached tokens in the place of each dialect', async () => {
    expect((await client.post(CHAT, ask('cached_tokens=3'))).body.usage.prompt_tokens_details.cached_tokens).toBe(3);
    const { usage } = (await client.post('/v1/messages', ask('cached_tokens=3', { max_tokens: 9 }))).body;
    const plain = (await client.post('/v1/messages', ask('cached_tokens=0', { max_tokens: 9 }))).body.usage;
    expect(usage).toMatchObject({ cache_read_input_tokens: 3, input_tokens: plain.input_tokens - 3 });
  });

  it('takes its time before the first byte and between events', async () => {
    const startedAt = performance.now();
    const events = await client.stream(CHAT, ask('latency_ms=40&chunk_ms=10', { stream: true }));
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(35 + 9 * (events.length - 1));
  });

  it('makes an answer as long as it is told to', async () => {
    const { body } = await client.post(CHAT, ask('words=500'));
    expect(body.choices[0].message.content.split(' ')).toHaveLength(500);
  });

  it.each([
    'stat=500',
    'status=200',
    'status=500&status=500',
    'hang=1&reset=1',
    'fail_rate=2',
    'latency_ms=soon',
    'hang=yes',
    'batch_end=never',
  ])('refuses the setting %s', async (settings) => {
    const { status, body } = await client.post(CHAT, ask(settings));
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ param: 'model', code: 'invalid_behaviour' });
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
