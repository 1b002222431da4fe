import { createHash } from 'node:crypto';
import { CHAT_ANSWER, chatChunk } from './testing/answers';
import { answerDetails, callDetails, type Ended, type RecordedCall, type Server } from './call-details';
import { InferenceApp } from './testing/inference-app';

const hashOf = (user: string): string => createHash('sha256').update(user).digest('hex');

describe(callDetails.name, () => {
  const detailsOf = (api: RecordedCall['api'], parsed: object) =>
    callDetails({ api, call: { parsed } as RecordedCall['call'], aim: { request: {} } }, []);

  it.each([
    ['chat', { user: 'alice' }, 'alice'],
    ['embeddings', { user: 'alice' }, 'alice'],
    ['transcription', { user: 'alice' }, 'alice'],
    ['responses', { user: 'alice', safety_identifier: 'bob' }, 'bob'],
    ['messages', { metadata: { user_id: 'bob' } }, 'bob'],
    ['chat', { user: 'alice', metadata: { user_id: 'bob' } }, 'alice'],
  ] as const)('knows the end user of %s in %j by a hash', (api, body, user) => {
    expect(detailsOf(api, body).externalUser).toBe(hashOf(user));
  });

  it('loses a session that PostgreSQL cannot hold, and nothing else', () => {
    expect(detailsOf('chat', { session_id: 'a\0', user: 'alice' })).toMatchObject({
      sessionId: undefined,
      externalUser: hashOf('alice'),
    });
  });
});

describe(answerDetails.name, () => {
  it('notes what a provider charges beside tokens, and what is not the provider’s', () => {
    const call = { parsed: {} } as RecordedCall['call'];
    const endpoint = { provider: { slug: 'p', name: 'P' }, capabilities: {}, pricing: {} };
    const server = { endpoint, credential: null, attempts: [] } as unknown as Server;
    const detailsOf = (cost: Partial<Ended['cost']>, cacheWriteTokens = 0, more: object = {}) =>
      answerDetails({ api: 'messages', call, aim: { request: {} } }, { ...server, ...more }, {
        usage: { cacheWriteTokens },
        cost: { totalCost: 30n, promptCost: 20n, completionCost: 10n, ...cost },
      } as Ended);
    const toolCosts = new Map([
      ['web_search', 10n],
      ['mcp', 5n],
    ]);
    const noted = detailsOf({ totalCost: 70n, toolCosts, cacheWrite1hTokens: 5 }, 8);
    expect(noted).toMatchObject({
      cacheWriteTokens: 8,
      cacheWrite1hTokens: 5,
      providerToolsUsd: '0.000000000015',
      providerTools: { web_search: '0.00000000001', mcp: '0.000000000005' },
      gatewayToolsUsd: '0.00000000004',
    });
    expect(JSON.stringify(detailsOf({}))).not.toMatch(/cacheWrite|Tools/);
    const owned = { totalCost: 90n, upstreamCost: 30n };
    expect(detailsOf(owned, 0, { credential: {} }).gatewayToolsUsd).toBeUndefined();
    // A picture that was painted with a key of the caller, in an answer that was not.
    expect(detailsOf(owned).gatewayToolsUsd).toBe('0.00000000006');
  });
});

describe('the record of a call', () => {
  let app: InferenceApp;

  beforeEach(async () => {
    app = await InferenceApp.start();
  });

  afterEach(() => app.close());

  const ask = (body: object, headers: object = {}): Promise<Response> =>
    app.post('chat/completions', body, {
      headers: { authorization: `Bearer ${app.key}`, 'content-type': 'application/json', ...headers },
    });
  const plain = { model: 'test/chat', messages: [{ role: 'user', content: 'Hi' }] };

  it('tells who called, with what, and who answered', async () => {
    app.answer = (_request, response) => void response.end(JSON.stringify(CHAT_ANSWER));
    const response = await ask(
      { ...plain, session_id: 's-1' },
      {
        'user-agent': 'client/1',
        'http-referer': 'https://app.example',
        'x-title': 'An app',
        origin: `https://${'x'.repeat(300)}`,
        'x-request-id': 'req-of-mine-000001',
      },
    );
    expect(response.status).toBe(200);
    await app.recorder.flush();
    expect(JSON.parse(JSON.stringify(app.books.settled[0]?.details))).toEqual({
      requestId: response.headers.get('x-request-id'),
      userAgent: 'client/1',
      httpReferer: 'https://app.example',
      appTitle: 'An app',
      origin: `https://${'x'.repeat(248)}`,
      sessionId: 's-1',
      nativeFinishReason: 'stop',
      attempts: [{ model: 'test/chat', provider: 'test', status: 200, latencyMs: expect.any(Number) }],
    });
  });

  it('tells of every attempt where nobody answered', async () => {
    app.answer = (_request, response) => void response.writeHead(503).end('{}');
    await ask({ ...plain, messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] });
    await app.recorder.flush();
    expect(app.books.settled).toMatchObject([{ outcome: 'failed', details: { attempts: [{ status: 503 }] } }]);
  });

  it.each([
    ['chat', 'chat/completions', {}],
    ['responses', 'responses', { input: 'Hi', messages: undefined }],
    ['messages', 'messages', { max_tokens: 5 }],
  ])('records that a stream of %s failed whose provider failed after the first words', async (_api, path, more) => {
    app.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(chatChunk('Hel'), () => response.destroy());
    };
    await (await app.post(path, { ...plain, stream: true, ...more })).text();
    await app.recorder.flush();
    expect(app.books.settled).toMatchObject([
      {
        outcome: 'failed',
        statusCode: 200,
        provider: 'test',
        details: { attempts: [{ provider: 'test', status: 502 }] },
      },
    ]);
  });

  it('is not kept of a call that could not be routed, unless its row was there: then the call failed', async () => {
    const unroutable = { ...plain, provider: { only: ['nobody'] } };
    expect((await ask(unroutable)).status).toBe(404);
    await app.recorder.flush();
    expect(app.books.settled).toMatchObject([{ outcome: 'failed', statusCode: 404, details: { attempts: [] } }]);
    app.books.settled.length = 0;
    expect((await ask(unroutable)).status).toBe(404);
    await app.recorder.flush();
    expect(app.books.settled).toEqual([]);
  });
});
