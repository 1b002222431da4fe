import type { OwnedPolicy } from '@libs/contracts';
import { waveFile } from '@libs/inference/testing';
import { FakeGenerationContents } from '../generations/testing/fake-generation-contents';
import { ModerationPlugin } from '../plugins/moderation.plugin';
import { WebPlugin } from '../plugins/web.plugin';
import { FakeTool } from '../server-tools/testing/fake-tool';
import type { SearchEngine } from '../server-tools/web-search-engines/search-engine';
import { WebSearch } from '../server-tools/web-search';
import { WebSearchTool } from '../server-tools/web-search.tool';
import { CHAT_ANSWER, CHAT_END, chatChunk, DONE } from './testing/answers';
import { InferenceApp } from './testing/inference-app';

const policyOf = (policy: OwnedPolicy['policy'], owner: OwnedPolicy['owner'] = 'workspace'): OwnedPolicy[] => [
  { owner, policy },
];
const ASKED = { model: 'test/zdr', messages: [{ role: 'user', content: 'a secret' }] };
const DATETIME = { tools: [{ type: 'sluice:datetime' }] };
const SEARCHES = [
  ['the plugin web', { plugins: [{ id: 'web' }] }],
  ['the suffix :online', { model: 'test/zdr:online' }],
  ['the server tool web_search', { tools: [{ type: 'sluice:web_search' }] }],
] as const;
const RULES = [
  ['zdr of a workspace', policyOf({ zdr: true }), {}, 403, 'workspace.policy.zdr'],
  ['zdr of a key', policyOf({ zdr: true }, 'key'), {}, 403, 'key.policy.zdr'],
  [
    'data_collection of a workspace',
    policyOf({ data_collection: 'deny' }),
    {},
    403,
    'workspace.policy.data_collection',
  ],
  ['zdr of the request', [], { provider: { zdr: true } }, 404, 'provider.zdr'],
  ['data_collection of the request', [], { provider: { data_collection: 'deny' } }, 404, 'provider.data_collection'],
] as const;

const queries: string[] = [];
const engine: SearchEngine = {
  name: 'searxng',
  search: async ({ text }) => {
    queries.push(text);
    return [];
  },
};

describe.each(RULES)('%s', (_rule, policies, preferences, status, field) => {
  const contents = new FakeGenerationContents();
  const tools = [new FakeTool('datetime'), new WebSearchTool(new WebSearch([engine], 0n))];
  const moderation = { url: 'http://127.0.0.1:9/', key: null, model: null, keepsNothing: false };
  const plugins = [new ModerationPlugin(moderation), new WebPlugin(new WebSearch([engine], 0n))];
  let app: InferenceApp;

  beforeAll(async () => {
    app = await InferenceApp.start(tools, contents, plugins);
    app.policies = policies;
    app.answer = (_request, response, body) => {
      if (!body.includes('"stream":true')) return void response.end(JSON.stringify(CHAT_ANSWER));
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(chatChunk('Hi.') + CHAT_END + DONE);
    };
  });
  beforeEach(() => {
    queries.length = 0;
    contents.rows.length = 0;
  });
  afterAll(() => app.close());

  const ask = async (more: object): Promise<{ status: number; text: string }> => {
    const response = await app.post('chat/completions', { ...ASKED, ...preferences, ...more });
    const text = await response.text();
    await app.contentLog!.flush();
    return { status: response.status, text };
  };

  it.each([
    ['of a whole answer', {}],
    ['of a stream', { stream: true }],
    ['of an answer in turns', DATETIME],
    ['of a stream in turns', { ...DATETIME, stream: true }],
  ])('keeps no content %s', async (_kind, more) => {
    expect(await ask(more)).toMatchObject({ status: 200 });
    expect(contents.rows).toEqual([]);
  });

  it('keeps no content of a call that failed', async () => {
    const { answer } = app;
    app.answer = (_request, response) => void response.writeHead(400).end('{}');
    expect(await ask({})).toMatchObject({ status: 400 });
    app.answer = answer;
    expect(contents.rows).toEqual([]);
  });

  it.each([...SEARCHES, ['the plugin moderation', { plugins: [{ id: 'moderation' }] }] as const])(
    'refuses %s, and sends nothing out',
    async (_what, more) => {
      const answer = await ask(more);
      expect(answer.status).toBe(status);
      expect(JSON.parse(answer.text)).toMatchObject({
        error: { availability: { code: 'privacy_restricted', constraint: { field } } },
      });
      expect(queries).toEqual([]);
    },
  );
});

describe('a search engine that keeps nothing, as the operator declares', () => {
  it.each(SEARCHES)('searches for %s under zero retention', async (_what, more) => {
    const web = new WebSearch([engine], 0n, ['searxng']);
    const app = await InferenceApp.start([new WebSearchTool(web)], null, [new WebPlugin(web)]);
    app.policies = policyOf({ zdr: true });
    app.answer = (_request, response) => void response.end(JSON.stringify(CHAT_ANSWER));
    try {
      expect((await app.post('chat/completions', { ...ASKED, ...more })).status).toBe(200);
    } finally {
      await app.close();
    }
  });
});

it('keeps no content of recordings and token counts, whatever the rules', async () => {
  const contents = new FakeGenerationContents();
  const app = await InferenceApp.start([], contents);
  app.answer = (_request, response) => void response.end(JSON.stringify({ text: 'Said.' }));
  const recording = { data: waveFile(1).toString('base64'), format: 'wav' };
  try {
    const said = await app.post('audio/transcriptions', { model: 'test/speech', input_audio: recording });
    const counted = await app.post('messages/count_tokens', { ...ASKED, model: 'test/chat' });
    expect([said.status, counted.status]).toEqual([200, 200]);
    await app.contentLog!.flush();
    expect(contents.rows).toEqual([]);
  } finally {
    await app.close();
  }
});

it('keeps the content of a call that no rule concerns', async () => {
  const contents = new FakeGenerationContents();
  const app = await InferenceApp.start([], contents);
  app.answer = (_request, response) => void response.end(JSON.stringify(CHAT_ANSWER));
  app.policies = policyOf({ data_collection: 'allow', zdr: false });
  try {
    await app.post('chat/completions', { ...ASKED, provider: { data_collection: 'allow', zdr: false } });
    await app.contentLog!.flush();
    expect(contents.rows).toHaveLength(1);
  } finally {
    await app.close();
  }
});
