import type { InferenceEngine } from './engine';
import type { Api } from '../catalogue/catalogue';
import { aModel, anEndpoint, anEngine, aProvider, dataOfEventStream, FakeUpstream, textOf } from '../testing';

const CHUNK = { object: 'chat.completion.chunk', created: 1, model: 'm' };
const RESPONSE = { id: 'resp_1', object: 'response', created_at: 5, model: 'm', status: 'completed', output: [] };

const eventsOf = (list: readonly object[]): string =>
  list.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('') + 'data: [DONE]\n\n';

const STREAMS: Readonly<Record<string, string>> = {
  chat: eventsOf([
    { ...CHUNK, choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: null }] },
    { ...CHUNK, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  ]),
  responses: eventsOf([
    { type: 'response.created', response: { ...RESPONSE, status: 'in_progress' } },
    { type: 'response.completed', response: RESPONSE },
  ]),
};

describe('a stream whose caller asks what its upstream is sent', () => {
  let upstream: FakeUpstream;
  let close: () => Promise<void>;

  beforeEach(async () => {
    upstream = await FakeUpstream.start();
  });

  afterEach(async () => {
    await close();
    await upstream.close();
  });

  /** @param failing the upstream's name of a model that is tried before */
  const anEngineSpeaking = (api: 'chat' | 'responses', failing?: string): InferenceEngine => {
    upstream.behaviour = (response) =>
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(STREAMS[api]);
    const provider = aProvider({ slug: 'one', baseUrl: upstream.baseUrl, apiKeyEnv: null });
    const names = failing === undefined ? ['served'] : [failing, 'served'];
    const endpoints = names.map((upstreamModel) => anEndpoint({ provider, apis: [api], upstreamModel }));
    const { engine, http } = anEngine([aModel({ endpoints })]);
    close = () => http.close();
    return engine;
  };

  const eventsFor = async (engine: InferenceEngine, api: Extract<Api, 'chat' | 'responses'>, debug: object) => {
    const said = api === 'chat' ? { messages: [{ role: 'user', content: 'Hi' }] } : { input: 'Hi' };
    const { stream } = await engine.stream(api, {
      generationId: 'gen-1-abc',
      model: 'acme/large',
      // As people write it, with line breaks, which must not end an event early.
      body: Buffer.from(JSON.stringify({ model: 'acme/large', ...said, stream: true, user: 'anna', debug }, null, 2)),
      signal: new AbortController().signal,
    });
    const text = await textOf(stream);
    return dataOfEventStream(text)
      .slice(0, -1)
      .map((data) => JSON.parse(data) as Record<string, unknown>);
  };

  const shownOf = (body: string, event: string) => ({
    echo_upstream_body: JSON.parse(body) as unknown,
    timings: { event, start_ms: expect.any(Number) as number, epoch_ms: expect.any(Number) as number },
  });
  const debugIn = (events: readonly Record<string, unknown>[]) =>
    events.flatMap(({ debug }) => (debug === undefined ? [] : [debug as ReturnType<typeof shownOf>]));

  it.each(['chat', 'responses'] as const)(
    'begins with a chunk of no choices, where the endpoint speaks %s',
    async (spoken) => {
      const events = await eventsFor(anEngineSpeaking(spoken), 'chat', { echo_upstream_body: true });
      const [first] = events;
      expect(first).toMatchObject({
        id: 'gen-1-abc',
        object: 'chat.completion.chunk',
        model: 'acme/large',
        choices: [],
      });
      expect(JSON.stringify(first)).not.toContain('anna');
      expect(debugIn(events)).toEqual([shownOf(upstream.requests[0]!.body, 'first_token_received')]);
    },
  );

  it.each(['chat', 'responses'] as const)(
    'begins with response.debug, where the endpoint speaks %s',
    async (spoken) => {
      const events = await eventsFor(anEngineSpeaking(spoken), 'responses', { echo_upstream_body: true });
      const debug = shownOf(upstream.requests[0]!.body, 'upstream_headers_received');
      expect(events[0]).toEqual({ type: 'response.debug', sequence_number: 0, debug });
      expect(events[1]).toMatchObject({ type: 'response.created', sequence_number: 1 });
      expect(debugIn(events)).toHaveLength(1);
    },
  );

  it.each(['chat', 'responses'] as const)('shows on %s each provider that was tried', async (api) => {
    const engine = anEngineSpeaking('chat', 'first');
    const answered = upstream.behaviour;
    upstream.behaviour = (response, request) => {
      if (request.body.includes('"first"')) response.writeHead(503).end('{}');
      else answered(response, request);
    };
    const events = await eventsFor(engine, api, { echo_upstream_body: true });
    const [failed, served] = debugIn(events.slice(0, 2));
    expect(failed).toEqual(shownOf(upstream.requests[0]!.body, 'upstream_body_ended'));
    expect(failed).toMatchObject({ echo_upstream_body: { model: 'first' } });
    expect(served!.echo_upstream_body).toMatchObject({ model: 'served' });
    expect(served!.timings.epoch_ms).toBeGreaterThanOrEqual(failed!.timings.epoch_ms);
    expect(served!.timings.start_ms).toBeGreaterThanOrEqual(failed!.timings.start_ms);
    expect(debugIn(events)).toHaveLength(2);
  });

  it('shows of a provider that hung up that the request was being sent', async () => {
    const engine = anEngineSpeaking('chat', 'first');
    const answered = upstream.behaviour;
    upstream.behaviour = (response, request) => {
      if (request.body.includes('"first"')) response.destroy();
      else answered(response, request);
    };
    const [failed] = debugIn(await eventsFor(engine, 'chat', { echo_upstream_body: true }));
    expect(failed).toEqual(shownOf(upstream.requests[0]!.body, 'adapter_request'));
  });

  it.each(['chat', 'responses'] as const)('says nothing of it to who does not ask, on %s', async (api) => {
    const events = await eventsFor(anEngineSpeaking('chat'), api, { echo_upstream_body: false });
    expect(JSON.stringify(events)).not.toContain('debug');
  });
});
