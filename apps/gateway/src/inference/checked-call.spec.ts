import type { Principal } from '@libs/contracts';
import { Cancellation } from '@libs/inference';
import { aPrincipal } from '@libs/platform/testing';
import { outsideWork } from '../parsers/testing/outside-work';
import { checkCall, routedRequest } from './checked-call';
import type { IncomingCall } from '../generations/incoming-call';

const caller = aPrincipal({ organizationId: 'acme' });
const CHAT = { model: 'test/chat', messages: [{ role: 'user', content: 'Hello!' }] };

const callOf = (parsed: object, values: Partial<IncomingCall> = {}): IncomingCall => ({
  generationId: 'gen-1-abc',
  arrivedMs: 0,
  caller,
  body: Buffer.from(JSON.stringify(parsed)),
  parsed,
  abort: new Cancellation(),
  memory: outsideWork().memory,
  ...values,
});

const routed = (parsed: object, values: Partial<IncomingCall> = {}, api: 'chat' | 'embeddings' = 'chat') =>
  routedRequest(api, callOf(parsed, values), checkCall(api, parsed).route, 7);

describe(checkCall.name, () => {
  it.each([
    ['chat', { ...CHAT, max_tokens: 5, max_completion_tokens: 6, n: 2 }, { maxTokens: 6, answers: 2 }],
    ['chat', { ...CHAT, max_tokens: 4_000, max_completion_tokens: 1 }, { maxTokens: 4_000 }],
    ['chat', { ...CHAT, max_tokens: 5, max_completion_tokens: null }, { maxTokens: 5 }],
    ['responses', { model: 'a', input: 'x', max_output_tokens: 9 }, { maxTokens: 9, answers: 1 }],
    ['messages', { ...CHAT, max_tokens: 8 }, { maxTokens: 8, answers: 1 }],
    ['embeddings', { model: 'a', input: ['x', 'y'] }, { maxTokens: null, answers: 2 }],
  ] as const)('reads what %s asks for', (api, body, expected) => {
    expect(checkCall(api, body)).toMatchObject(expected);
  });

  it.each([
    [{ tools: [{ type: 'web_search' }, { type: 'code_interpreter' }] }, ['web_search', 'code_interpreter']],
    [{ tools: [{ type: 'function', function: { name: 'f' } }], web_search_options: {} }, ['web_search']],
    [{ web_search_options: null }, []],
  ])('reads which tools a provider runs for a chat request: %j', (more, tools) => {
    const { toolUses } = checkCall('chat', { ...CHAT, ...more });
    expect(toolUses.flatMap((one) => one.tools)).toEqual(tools);
  });

  it('reads where the call wants to go', () => {
    const { route } = checkCall('responses', {
      models: ['a', 'b'],
      input: 'x',
      route: 'sort',
      provider: { zdr: true },
    });
    expect(route).toMatchObject({ model: 'a', models: ['b'], preferences: { partition: 'none', zdr: true } });
    expect(checkCall('messages', { ...CHAT, max_tokens: 1, fallbacks: [{ model: 'c' }] }).route.models).toEqual(['c']);
  });
});

describe('further models of a request', () => {
  it.each(['chat', 'responses', 'embeddings'] as const)(
    'are not read from fallbacks of %s, whatever these are',
    (api) => {
      for (const fallbacks of [['test/other'], 'test/other', [null], {}, [{ model: 'test/other' }]]) {
        expect(checkCall(api, { ...CHAT, input: 'x', fallbacks }).route).toMatchObject({
          model: 'test/chat',
          models: [],
        });
      }
    },
  );

  it.each([5, 'test/other', [5], [{}], [''], Array.from({ length: 33 }, () => 'a')])(
    'are checked where vectors are asked for: %j',
    (models) => {
      expect(() => checkCall('embeddings', { model: 'a', input: 'x', models })).toThrow(
        expect.objectContaining({ code: 'invalid_request', metadata: { param: 'models' } }) as Error,
      );
    },
  );
});

describe('the default model of a workspace', () => {
  const settings = { default_text_model: 'ours/model' };
  const messages = CHAT.messages;

  it('is what a chat completion or response asks that names none', () => {
    expect(checkCall('chat', { messages }, settings).route).toMatchObject({ model: 'ours/model', models: [] });
    expect(checkCall('responses', { input: 'x' }, settings).route).toMatchObject({ model: 'ours/model' });
    expect(checkCall('chat', { messages, models: ['a', 'b'] }, settings).route).toMatchObject({
      model: 'a',
      models: ['b'],
    });
    expect(checkCall('chat', CHAT, settings).route.model).toBe('test/chat');
  });

  it('is no model of APIs that want one named', () => {
    expect(() => checkCall('messages', { messages, max_tokens: 1 }, settings)).toThrow('model');
    expect(() => checkCall('embeddings', { input: 'x' }, settings)).toThrow('model');
  });

  it.each(['chat', 'responses'] as const)('is missed by name on %s where there is none', (api) => {
    expect(() => checkCall(api, { messages, input: 'x' })).toThrow(
      expect.objectContaining({ message: 'model is required', metadata: { param: 'model' } }),
    );
  });
});

describe(routedRequest.name, () => {
  it('tells routing the sort of the workspace', () => {
    expect(routed(CHAT).defaultSort).toBeUndefined();
    const sorted: Principal = { ...caller, settings: { default_provider_sort: 'latency' } };
    expect(routed(CHAT, { caller: sorted }).defaultSort).toBe('latency');
  });

  it('tells routing who asks and what the body needs', () => {
    expect(routed({ ...CHAT, tools: [{ type: 'function', function: { name: 'f' } }], max_tokens: 5 })).toMatchObject({
      model: 'test/chat',
      estimatedPromptTokens: 7,
      parameters: ['tools', 'max_tokens'],
      maxOutputTokens: 5,
      scope: { organizationId: 'acme', workspaceId: 'workspace', apiKeyHash: 'hash' },
    });
  });

  it('knows a conversation by the session of the body, then of the header, then by its beginning', () => {
    const other = { ...CHAT, messages: [{ role: 'user', content: 'Something else' }] };
    const inBody = routed({ ...CHAT, session_id: 's1' }, { sessionId: 's2' }).stickyKey?.();
    expect(inBody).toBe(routed({ ...other, session_id: 's1' }).stickyKey?.());
    expect(routed(CHAT, { sessionId: 's1' }).stickyKey?.()).toBe(inBody);
    expect(routed(CHAT).stickyKey?.()).not.toBe(routed(other).stickyKey?.());
    expect(routed(CHAT).stickyKey?.()).toBe(
      routed({ ...CHAT, messages: [...CHAT.messages, other.messages[0]] }).stickyKey?.(),
    );
  });

  it('knows no conversation of vectors, unless they name one', () => {
    const body = { model: 'test/embed', input: 'x' };
    expect(routed(body, {}, 'embeddings').stickyKey).toBeUndefined();
    expect(routed(body, { sessionId: 's1' }, 'embeddings').stickyKey?.()).toEqual(expect.any(String));
  });

  it('refuses a session id of more than 256 characters, wherever it stands', () => {
    expect(() => routed(CHAT, { sessionId: 'x'.repeat(257) })).toThrow('session id');
    expect(routed(CHAT, { sessionId: 'x'.repeat(256) }).stickyKey?.()).toEqual(expect.any(String));
    expect(() => checkCall('chat', { ...CHAT, session_id: 'x'.repeat(257) })).toThrow('session_id');
  });
});
