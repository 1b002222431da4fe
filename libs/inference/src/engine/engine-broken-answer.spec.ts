import { aModel, anEndpoint, anEngine, aProvider, FakeUpstream } from '../testing';

const answerWith = (finish: string): string =>
  JSON.stringify({
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Half of an' }, finish_reason: finish }],
    usage: { prompt_tokens: 5, completion_tokens: 4, total_tokens: 9 },
  });

describe('a whole answer that a provider broke off', () => {
  let upstream: FakeUpstream;

  beforeEach(async () => {
    upstream = await FakeUpstream.start();
  });

  afterEach(() => upstream.close());

  const ask = async (models: readonly string[]) => {
    upstream.behaviour = (response, { body }) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(answerWith(body.includes('"broken"') ? 'error' : 'stop'));
    const provider = aProvider({ slug: 'one', baseUrl: upstream.baseUrl, apiKeyEnv: null });
    const endpoints = models.map((upstreamModel) => anEndpoint({ provider, apis: ['chat'], upstreamModel }));
    const { engine, http } = anEngine([aModel({ endpoints })]);
    const asked = { model: 'acme/large', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] };
    try {
      return await engine.answer('messages', {
        generationId: 'gen-1-abc',
        model: 'acme/large',
        body: Buffer.from(JSON.stringify(asked)),
        signal: new AbortController().signal,
      });
    } finally {
      await http.close();
    }
  };

  it('fails for callers of messages, which have no word for it', async () => {
    await expect(ask(['broken'])).rejects.toMatchObject({ code: 'provider_unavailable' });
  });

  it('is made up for by another endpoint', async () => {
    const { body, attempts } = await ask(['broken', 'whole']);
    expect(JSON.parse(body.toString())).toMatchObject({ stop_reason: 'end_turn' });
    expect(attempts.map(({ status }) => status)).toEqual([502, 200]);
  });
});
