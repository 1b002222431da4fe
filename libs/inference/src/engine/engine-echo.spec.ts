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

  const anEngineSpeaking = (api: 'chat' | 'responses'): InferenceEngine => {
    upstream.behaviour = (response) =>
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(STREAMS[api]);
    const provider = aProvider({ slug: 'one', baseUrl: upstream.baseUrl, apiKeyEnv: null });
    const { engine, http } = anEngine([aModel({ endpoints: [anEndpoint({ provider, apis: [api] })] })]);
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

  it.each(['chat', 'responses'] as const)(
    'begins with a chunk of no choices, where the endpoint speaks %s',
    async (spoken) => {
      const [first, ...rest] = await eventsFor(anEngineSpeaking(spoken), 'chat', { echo_upstream_body: true });
      expect(first).toMatchObject({
        id: 'gen-1-abc',
        object: 'chat.completion.chunk',
        model: 'acme/large',
        choices: [],
      });
      expect(first!['debug']).toEqual({ echo_upstream_body: JSON.parse(upstream.requests[0]!.body) });
      expect(JSON.stringify(first)).not.toContain('anna');
      expect(rest.some((event) => 'debug' in event)).toBe(false);
    },
  );

  it.each(['chat', 'responses'] as const)(
    'begins with response.debug, where the endpoint speaks %s',
    async (spoken) => {
      const [first, second] = await eventsFor(anEngineSpeaking(spoken), 'responses', { echo_upstream_body: true });
      expect(first).toEqual({
        type: 'response.debug',
        sequence_number: 0,
        debug: { echo_upstream_body: JSON.parse(upstream.requests[0]!.body) },
      });
      expect(second).toMatchObject({ type: 'response.created', sequence_number: 1 });
    },
  );

  it.each(['chat', 'responses'] as const)('says nothing of it to who does not ask, on %s', async (api) => {
    const events = await eventsFor(anEngineSpeaking('chat'), api, { echo_upstream_body: false });
    expect(JSON.stringify(events)).not.toContain('debug');
  });
});
