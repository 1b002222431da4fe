import type { ServerResponse } from 'node:http';
import { AppError } from '@libs/errors';
import type { PipelineStage } from '@libs/inference';
import type { BoundPlugin, Plugin } from '../plugins/plugin';
import { FakeTool, found } from '../server-tools/testing/fake-tool';
import { failureMetadata } from './call-failure';
import { CHAT_ANSWER, payloadsOf, TOOL_CALL_ANSWER, TOOL_CALL_STREAM, until } from './testing/answers';
import { InferenceApp } from './testing/inference-app';

const PATHS = { chat: 'chat/completions', responses: 'responses', messages: 'messages' } as const;
type Api = keyof typeof PATHS;

const said = { model: 'test/chat', messages: [{ role: 'user', content: 'Hi' }] };
const BODIES: Readonly<Record<Api, object>> = {
  chat: said,
  responses: { model: 'test/chat', input: 'Hi' },
  messages: { ...said, max_tokens: 50 },
};
const APIS = Object.keys(PATHS) as Api[];
const BOTH = APIS.flatMap((api) => [false, true].map((stream) => [api, stream] as const));

const AVAILABLE = { available: [{ model: 'test/chat', provider: 'Test', selected: false }], total: 1 };
const READ = { type: 'plugin', name: 'web-fetch', summary: 'pages=1' } as const;
const GUARD = { type: 'guardrail', name: 'moderation' } as const;

/** A plugin that does as the test says. */
class FakePlugin implements Plugin {
  constructor(
    readonly id: string,
    private readonly bound: BoundPlugin,
  ) {}

  bind(): BoundPlugin {
    return this.bound;
  }
}

const refused = new AppError('permission_denied', 'The input was flagged');
const plugins = [
  new FakePlugin('web-fetch', { stage: READ, prepare: async (body) => ({ body, stage: READ }) }),
  new FakePlugin('moderation', {
    stage: GUARD,
    prepare: async (body) => ({ body, stage: { ...GUARD, summary: 'flagged=1' }, refusal: refused }),
  }),
  new FakePlugin('web', {
    stage: { type: 'plugin', name: 'web' },
    prepare: () => Promise.reject(new AppError('provider_unavailable', 'The search is not available')),
  }),
  new FakePlugin('response-healing', {
    stage: { type: 'response_healing', name: 'response-healing' },
    finish: () => Promise.reject(new AppError('provider_unavailable', 'The mender is not available')),
  }),
];

const TOOLS = [{ type: 'sluice:datetime' }];

let app: InferenceApp;
let act: () => ReturnType<typeof found>;

beforeEach(async () => {
  act = () => found('Found.');
  app = await InferenceApp.start([new FakeTool('datetime', () => act())], null, plugins);
  app.answer = (_request, response) => whole(response, CHAT_ANSWER);
});

afterEach(() => app.close());

const whole = (response: ServerResponse, answer: object): void =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));

/** The first turn calls the tool, and every later one is refused. */
function failsInTheSecondTurn(): void {
  app.answer = (_request, response, body) => {
    if (app.upstreamCalls.length > 1) response.writeHead(503).end('{}');
    else if (!body.includes('"stream":true')) whole(response, TOOL_CALL_ANSWER);
    else response.writeHead(200, { 'content-type': 'text/event-stream' }).end(TOOL_CALL_STREAM);
  };
}

interface Told {
  readonly status: number;
  /** The last event of a stream, or the answer. */
  readonly last: Record<string, unknown>;
  readonly metadata: { readonly pipeline?: readonly PipelineStage[] } & Record<string, unknown>;
}

async function ask(api: Api, stream: boolean, more: object): Promise<Told> {
  const response = await app.post(
    PATHS[api],
    { ...BODIES[api], ...(stream && { stream }), ...more },
    {
      headers: {
        authorization: `Bearer ${app.key}`,
        'content-type': 'application/json',
        'x-sluice-metadata': 'enabled',
      },
    },
  );
  const text = await response.text();
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
  const last = isStream ? payloadsOf(text).at(-1)! : (JSON.parse(text) as Record<string, unknown>);
  const holder = (last['response'] ?? last) as Record<string, unknown>;
  return { status: response.status, last, metadata: holder['sluice_metadata'] as Told['metadata'] };
}

describe(failureMetadata.name, () => {
  it.each(BOTH)('names the guardrail that stopped a call of %s (stream: %j)', async (api, stream) => {
    const asked = { plugins: [{ id: 'web-fetch' }, { id: 'moderation' }] };
    const { status, metadata } = await ask(api, stream, asked);
    expect(status).toBe(403);
    expect(metadata).toMatchObject({ attempt: 0, endpoints: AVAILABLE, requested: 'test/chat', strategy: 'direct' });
    expect(metadata).not.toHaveProperty('attempts');
    expect(metadata.pipeline).toEqual([READ, { ...GUARD, summary: 'flagged=1' }]);
    expect(app.upstreamCalls).toEqual([]);
  });

  it.each(BOTH)('names the plugin that could not do its part on %s (stream: %j)', async (api, stream) => {
    const { status, metadata } = await ask(api, stream, { plugins: [{ id: 'web' }, { id: 'web-fetch' }] });
    expect(status).toBe(502);
    expect(metadata).toMatchObject({ attempt: 0, endpoints: AVAILABLE });
    expect(metadata.pipeline).toEqual([READ, { type: 'plugin', name: 'web', summary: 'failed' }]);
  });

  it.each(BOTH)('names the plugins before the provider that failed on %s (stream: %j)', async (api, stream) => {
    app.answer = (_request, response) => void response.writeHead(503).end('{}');
    const { status, metadata } = await ask(api, stream, { plugins: [{ id: 'web-fetch' }] });
    expect(status).toBe(503);
    expect(metadata).toMatchObject({ attempts: [{ provider: 'Test', status: 503 }], pipeline: [READ] });
  });

  it.each(APIS)('names the provider that answered before a plugin failed on %s', async (api) => {
    const { status, metadata } = await ask(api, false, { plugins: [{ id: 'web-fetch' }, { id: 'response-healing' }] });
    expect(status).toBe(502);
    expect(metadata).toMatchObject({ attempts: [{ provider: 'Test', status: 200 }] });
    expect(metadata.pipeline).toEqual([
      READ,
      { type: 'response_healing', name: 'response-healing', summary: 'failed' },
    ]);
  });

  it.each(BOTH)('lists all turns when a later one failed on %s (stream: %j)', async (api, stream) => {
    failsInTheSecondTurn();
    const { last, metadata } = await ask(api, stream, { tools: TOOLS, plugins: [{ id: 'web-fetch' }] });
    expect(JSON.stringify(last)).toContain('overloaded');
    expect(metadata).toMatchObject({
      attempt: 2,
      attempts: [
        { provider: 'Test', status: 200 },
        { provider: 'Test', status: 503 },
      ],
    });
    expect(metadata.pipeline).toMatchObject([
      READ,
      { type: 'server_tools', data: { steps: 1, uses: { datetime: 1 } } },
    ]);
  });

  it.each(BOTH)('lists the turn before a tool that failed on %s (stream: %j)', async (api, stream) => {
    failsInTheSecondTurn();
    act = () => {
      throw new AppError('provider_overloaded', 'The tool takes no more work');
    };
    const { metadata } = await ask(api, stream, { tools: TOOLS });
    expect(metadata).toMatchObject({ attempt: 1, attempts: [{ provider: 'Test', status: 200 }] });
    expect(metadata.pipeline).toContainEqual(expect.objectContaining({ type: 'server_tools' }));
  });

  it.each(BOTH)(
    'names the provider of %s that was asked before its hold was refused (stream: %j)',
    async (api, stream) => {
      await (await app.post(PATHS[api], BODIES[api])).text();
      await app.recorder.flush();
      const gate = Promise.withResolvers<void>();
      app.books.gate = gate.promise;
      app.books.isBroke = true;
      app.answer = () => gate.resolve();
      const { status, metadata } = await ask(api, stream, { plugins: [{ id: 'web-fetch' }] });
      expect(status).toBe(402);
      expect(metadata).toMatchObject({ attempts: [{ provider: 'Test', status: 408 }], pipeline: [READ] });
      await until(() => app.upstreamAborts === 1);
    },
  );

  it('tells nothing of a call that was refused before anything was done for it', async () => {
    app.books.isBroke = true;
    expect(await ask('chat', false, { plugins: [{ id: 'web-fetch' }] })).toMatchObject({
      status: 402,
      metadata: undefined,
    });
  });

  it('tells nothing beside a fault of our own', async () => {
    failsInTheSecondTurn();
    act = () => {
      throw new TypeError('x is undefined');
    };
    expect(await ask('messages', false, { tools: TOOLS })).toMatchObject({ status: 500, metadata: undefined });
  });
});
