import { FakeUpstream } from '@libs/inference/testing';
import { catalogueOf, type TestModel } from '../support/catalogue';
import type { ApiClient } from '../support/client';
import type { Installation } from '../support/installation';
import { Operator } from '../support/operator';
import { giveBack, shareInstallation } from '../support/shared-installations';

/** A link of the metadata service of a cloud, by which each case is found again at the upstream. */
const METADATA = 'http://169.254.169.254/latest/meta-data/iam';
const FREE = { prompt: '0.0000001', completion: '0.0000001' };
const PATHS: Readonly<Record<string, string>> = {
  chat: '/chat/completions',
  responses: '/responses',
  messages: '/messages',
};

let upstream: FakeUpstream;
let installation: Installation;
let client: ApiClient;
let apiKey: string;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = (response) => response.writeHead(400, { 'content-type': 'application/json' }).end('{}');
  const at = (protocol: string, api: string): TestModel => ({
    slug: `links/${protocol}-${api}`,
    provider: `links-${protocol}-${api}`,
    baseUrl: `${upstream.origin}/${protocol}/v1`,
    protocol,
    apis: [api],
    pricing: FREE,
  });
  const models = [
    at('openai', 'chat'),
    at('openai', 'responses'),
    at('azure', 'chat'),
    at('anthropic', 'messages'),
    at('google', 'chat'),
  ];
  const catalogue = JSON.parse(catalogueOf(models)) as {
    models: { architecture: { input_modalities: string[] } }[];
  };
  for (const { architecture } of catalogue.models) architecture.input_modalities = ['text', 'image', 'file', 'video'];
  installation = await shareInstallation({ catalogue: JSON.stringify(catalogue), apps: ['auth', 'gateway'] });
  const tenant = await new Operator(installation).createTenant('links', '100');
  apiKey = tenant.apiKey;
  client = installation.client(apiKey);
});

afterAll(async () => {
  await client?.close();
  await giveBack(installation);
  await upstream?.close();
});

const user = { role: 'user', content: 'hello' };
const image = (url: string): object => ({ type: 'image_url', image_url: { url } });
const shown = (url: string): object => ({ messages: [{ role: 'user', content: [image(url)] }] });

/** What became of a request on shared capacity: its status, its error, and what reached a provider of it. */
async function send(model: string, body: object): Promise<{ status: number; error: string; sent: string }> {
  const before = upstream.requests.length;
  const api = model.split('-').at(-1)!;
  const { status, text } = await client.request('POST', PATHS[api]!, { model: `links/${model}`, ...body });
  const reached = upstream.requests.slice(before);
  return { status, error: text, sent: reached.map((one) => one.body).join('\n') };
}

/** The request is refused before any provider is asked, and the answer names the member. */
async function expectRefused(model: string, body: object, member: string): Promise<void> {
  const { status, error, sent } = await send(model, body);
  expect({ status, sent }).toEqual({ status: 400, sent: '' });
  expect(error).toContain(member);
}

describe('a private link', () => {
  const pictures = (url: string): object => ({
    messages: [user, { role: 'assistant', content: 'x', images: [image(url)] }, user],
  });

  it.each(['openai-chat', 'google-chat', 'azure-chat'])(
    'in the pictures of an answer stays here: %s',
    async (model) => {
      for (const link of [METADATA, 'file:///etc/passwd']) {
        await expectRefused(model, pictures(link), 'messages[1].images[0].image_url.url');
      }
    },
  );

  it('as the MCP server of more tools stays here', async () => {
    const tools = [{ type: 'mcp', server_label: 'x', server_url: METADATA }];
    const input = [{ type: 'additional_tools', role: 'developer', tools }, user];
    await expectRefused('openai-responses', { input }, 'input[0].tools[0].server_url');
  });

  it('in the message of an agent stays here', async () => {
    const input = [{ type: 'agent_message', content: [{ type: 'input_image', image_url: METADATA }] }, user];
    await expectRefused('openai-responses', { input }, 'input[0].content[0].image_url');
  });

  it('in the result of an MCP tool stays here', async () => {
    const content = [{ type: 'image', source: { type: 'url', url: METADATA } }];
    const block = { type: 'mcp_tool_result', tool_use_id: 'a', content };
    const body = { max_tokens: 9, messages: [user, { role: 'assistant', content: [block] }, user] };
    await expectRefused('anthropic-messages', body, 'messages[1].content[0].content[0].source.url');
  });

  it.each([
    'http://metadata./computeMetadata',
    'http://kubernetes.default.svc/api',
    'http://168.63.129.16/machine',
    'http://vault.service.consul/v1',
    'https://:password@files.example/x',
    'https://files.example\\@169.254.169.254/',
  ])('in another form stays here: %s', async (url) => {
    await expectRefused('openai-chat', shown(url), 'messages[0].content[0].image_url.url');
  });

  it('in a text is a text', async () => {
    const tool = {
      type: 'function',
      function: { name: 'f', parameters: { properties: { url: { default: METADATA } } } },
    };
    const body = { messages: [{ role: 'user', content: METADATA }], tools: [tool], metadata: { page: METADATA } };
    const { sent } = await send('openai-chat', body);
    expect(JSON.parse(sent)).toMatchObject({ messages: body.messages, tools: body.tools });
  });
});

describe("what lies in the operator's account", () => {
  const GOOGLE = 'generativelanguage.googleapis.com';

  it.each([
    `https://${GOOGLE}/v1beta/files/abc123`,
    `https://${GOOGLE}:443/v1beta/files/abc123`,
    `https://${GOOGLE}./v1beta/files/abc123`,
    `https://${GOOGLE}/v1beta/%66iles/abc123`,
    `https:\\\\${GOOGLE}\\v1beta\\files\\abc123`,
    ` https://${GOOGLE}/v1beta/files/abc123`,
  ])('is no file for everybody, however it is spelled: %s', async (url) => {
    await expectRefused('google-chat', shown(url), 'messages[0].content[0].image_url.url');
  });

  const parameters = { endpoint: 'https://search.acme.example', index_name: 'hr' };
  it.each<[string, object, string]>([
    [
      'anthropic-messages',
      { max_tokens: 9, container: { skills: [{ type: 'custom', skill_id: 'skill_1' }] }, messages: [user] },
      'container.skills[0].skill_id',
    ],
    ['openai-responses', { input: [{ type: 'image_generation_call', id: 'ig_1' }, user] }, 'input[0].id'],
    ['openai-chat', { messages: [user], fileId: 'file-1' }, 'fileId'],
    ['azure-chat', { messages: [user], data_sources: [{ type: 'azure_search', parameters }] }, 'data_sources'],
    [
      'openai-chat',
      { messages: [user], extra_body: { google: { cached_content: 'cachedContents/1' } } },
      'extra_body.google.cached_content',
    ],
  ])('is not for others: %s %j', async (model, body, member) => {
    await expectRefused(model, body, member);
  });
});

describe('tools that come later in the input', () => {
  const later = (...tools: object[]): object => ({
    input: [{ type: 'additional_tools', role: 'developer', tools }, user],
  });
  const interpreter = { type: 'code_interpreter', container: { type: 'auto' } };

  it('need a price as others do', async () => {
    await expectRefused('openai-responses', later(interpreter), 'has no price');
    const demanded = { ...later({ type: 'web_search' }), tool_choice: { type: 'web_search' } };
    await expectRefused('openai-responses', demanded, 'has no price');
  });

  it('are left out where they are a search that the request can do without', async () => {
    const { sent } = await send('openai-responses', later({ type: 'web_search' }));
    expect(JSON.parse(sent)).toMatchObject({ input: [user] });
    expect(sent).not.toContain('search');
  });

  it('are as forbidden with zero retention as others are', async () => {
    const { status, error, sent } = await send('openai-responses', { ...later(interpreter), provider: { zdr: true } });
    expect({ status, sent }).toEqual({ status: 404, sent: '' });
    expect(error).toContain('provider.zdr');
  });
});

describe('what makes a provider keep something', () => {
  it.each(['deferred', 'background', 'previous_response_id', 'conversation'])(
    'does not reach it on shared capacity: %s',
    async (name) => {
      const { sent } = await send('openai-chat', { messages: [user], [name]: name === 'deferred' ? true : 'x_1' });
      expect(JSON.parse(sent)).not.toHaveProperty(name);
    },
  );

  it('does not reach it in another spelling, or in extra_body', async () => {
    const kept = { Store: true, previousResponseId: 'r' };
    const more = { store: true, previous_response_id: 'r', prompt_cache_retention: '24h', prompt_cache_key: 'shared' };
    const body = { messages: [user], ...kept, extra_body: more, prompt_cache_key: 'shared' };
    const { sent } = await send('openai-chat', body);
    for (const word of ['Store', 'store', 'esponse', '"shared"']) expect(sent).not.toContain(word);
    const { sent: bound } = await send('anthropic-messages', { max_tokens: 9, ...body });
    expect(bound).toContain('prompt_cache_key');
    expect(bound).not.toContain('"shared"');
  });

  it('does not reach it where Azure would by itself', async () => {
    expect(JSON.parse((await send('azure-chat', { messages: [user] })).sent)).toHaveProperty('store', false);
    expect(JSON.parse((await send('openai-chat', { messages: [user] })).sent)).not.toHaveProperty('store');
  });

  it('does not reach it behind a second member of its name', async () => {
    const sent = await sentOf(
      '{"model":"links/openai-chat","store":true,"messages":[{"role":"user","content":"hi"}],"store":false}',
    );
    expect(sent).toHaveLength(1);
    expect(sent[0]).not.toContain('"store":true');
  });
});

describe('a member that is named twice below the top', () => {
  const part = (members: string): string =>
    `{"model":"links/openai-chat","messages":[{"role":"user","content":[{"type":"text","text":"x"},${members}]}]}`;

  it.each([
    [part(`{"type":"image_url","image_url":{"url":"${METADATA}","url":"https://acme.example/a.png"}}`), METADATA],
    [part(`{"type":"image_url","image_url":{"\\u0075rl":"${METADATA}","url":"https://acme.example/a.png"}}`), METADATA],
    [
      part('{"type":"file","file":{"file_id":"file-of-other","file_id":null,"file_data":"data:a/b;base64,QUJD"}}'),
      'file-of',
    ],
  ])('is sent once, as it was checked', async (body, secret) => {
    const sent = await sentOf(body);
    expect(sent).toHaveLength(1);
    expect(sent[0]).not.toContain(secret);
  });
});

describe('a schema whose references follow one another', () => {
  const length = 9_900;
  const $defs = Object.fromEntries(
    Array.from({ length }, (_, index) => [`definition${index}`, { $ref: `#/$defs/definition${index + 1}` }]),
  );
  const schema = { type: 'object', $defs, properties: { a: { $ref: '#/$defs/definition0' } } };

  it.each([
    { tools: [{ type: 'function', name: 'f', parameters: schema }] },
    { text: { format: { type: 'json_schema', name: 'x', schema } } },
  ])('is refused for its length, as other long prompts are', async (asked) => {
    await expectRefused('openai-responses', { input: 'hi', ...asked }, 'longer than the context');
  });
});

/** What reached a provider of a body that is sent as it is. */
async function sentOf(body: string): Promise<readonly string[]> {
  const before = upstream.requests.length;
  const answer = await fetch(`${installation.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body,
  });
  await answer.text();
  return upstream.requests.slice(before).map((one) => one.body);
}
