import { LossLog } from '../model/loss-report';
import { anEndpoint } from '../testing';
import { bedrockConverse } from './bedrock-converse';
import { cohereChatTranslation } from './cohere-chat';
import { TRANSLATIONS, type StreamableApi } from './dialect-pairs';
import { googleGenerateContent } from './google-generate-content';
import { dialectOf } from './index';
import { mistralChatTranslation } from './mistral-chat';
import type { UpstreamTranslation } from './translation';

/** About as many as a body may have, and fewer in the short form. What takes the square of it takes many seconds. */
const MANY = process.env.SLUICE_CHAOS === 'full' ? 40_000 : 16_000;
/** Each of these takes less than a fifth of it. */
const MOST_MS = MANY / 16;

const many = <T>(make: (index: number) => T, count = MANY): T[] => Array.from({ length: count }, (_, at) => make(at));
const turns = (...kinds: ((index: number) => object)[]): object[] =>
  many((index) => kinds[index % kinds.length]!(index));

const user = (content: unknown = 'x'): object => ({ role: 'user', content });
const call = (index: number): object => ({
  id: `c${index}`,
  type: 'function',
  function: { name: 'f', arguments: '{}' },
});
const picture = { type: 'image_url', image_url: { url: 'https://acme.example/a.png' } };
const image = { type: 'image', source: { type: 'url', url: 'https://acme.example/a.png' } };
const document = { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'x' } };
const sealed = { type: 'reasoning', summary: [], encrypted_content: 'e', format: 'google-gemini-v1' };
const functionCall = (index: number): object => ({
  type: 'function_call',
  call_id: `c${index}`,
  name: 'f',
  arguments: '{}',
});
const output = (index: number): object => ({ type: 'function_call_output', call_id: `c${index}`, output: 'x' });

const SHAPES: readonly (readonly [string, StreamableApi, object])[] = [
  [
    'instructions between users',
    'chat',
    {
      messages: turns(
        () => user(),
        () => ({ role: 'system', content: 'x' }),
      ),
    },
  ],
  [
    'instructions behind answers',
    'chat',
    {
      messages: turns(
        () => user(),
        () => ({ role: 'assistant', content: 'x' }),
        () => ({ role: 'system', content: 'x' }),
      ),
    },
  ],
  [
    'pictures of a tool',
    'chat',
    { messages: [user(), { role: 'tool', tool_call_id: 'c', content: many(() => picture) }] },
  ],
  [
    'calls of one turn, then their results',
    'chat',
    {
      messages: [
        user(),
        { role: 'assistant', content: null, tool_calls: many(call, MANY / 2) },
        ...many((index) => ({ role: 'tool', tool_call_id: `c${index}`, content: 'x' }), MANY / 2),
      ],
    },
  ],
  [
    'calls of many turns',
    'chat',
    {
      messages: turns(
        (index) => ({ role: 'assistant', content: null, tool_calls: [call(index)] }),
        (index) => ({ role: 'tool', tool_call_id: `c${index - 1}`, content: 'x' }),
      ),
    },
  ],
  ['thoughts without content', 'responses', { input: [...many(() => ({ type: 'reasoning', summary: [] })), user()] }],
  ['thoughts with seals', 'responses', { input: [...many(() => sealed), user()] }],
  [
    'thoughts with seals and texts',
    'responses',
    {
      input: turns(
        () => sealed,
        () => ({ role: 'assistant', content: 'x' }),
      ),
    },
  ],
  [
    'thoughts with seals, then texts',
    'responses',
    {
      input: [...many(() => sealed, MANY / 2), ...many(() => ({ role: 'assistant', content: 'x' }), MANY / 2)],
    },
  ],
  [
    'thoughts of calls',
    'responses',
    {
      input: turns((index) => ({ ...sealed, id: `c${index + 1}` }), functionCall),
    },
  ],
  ['calls, then outputs', 'responses', { input: [...many(functionCall, MANY / 2), ...many(output, MANY / 2)] }],
  ['calls and outputs', 'responses', { input: turns(functionCall, (index) => output(index - 1)) }],
  [
    'documents of one name',
    'messages',
    { max_tokens: 9, messages: [user([...many(() => document), { type: 'text', text: 'x' }])] },
  ],
  [
    'pictures among results',
    'messages',
    {
      max_tokens: 9,
      messages: [
        {
          role: 'assistant',
          content: many((index) => ({ type: 'tool_use', id: `c${index}`, name: 'f', input: {} }), 9_000),
        },
        user(many((index) => ({ type: 'tool_result', tool_use_id: `c${8_999 - index}`, content: [image] }), 9_000)),
      ],
    },
  ],
  [
    'tools',
    'chat',
    {
      messages: [user()],
      tools: many(
        (index) => ({
          type: 'function',
          function: { name: `f${index}`, parameters: { type: 'object', properties: {} } },
        }),
        MANY / 4,
      ),
    },
  ],
];

const UPSTREAMS: readonly (readonly [string, UpstreamTranslation])[] = [
  ...[...TRANSLATIONS].map(([api, { upstream }]) => [api, upstream] as const),
  ['bedrock', bedrockConverse],
  ['google', googleGenerateContent],
  ['mistral', mistralChatTranslation],
  ['cohere', cohereChatTranslation],
];

const msOf = (work: () => unknown): number => {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
};

describe.each(SHAPES)('a request of many %s', (_name, api, shape) => {
  const members = { model: 'm', ...shape };
  const endpoint = anEndpoint({ contextLength: null, upstreamModel: 'global.anthropic.claude-opus-4-5' });

  it.each(UPSTREAMS)('is translated in linear time for %s', (_upstream, upstream) => {
    const ms = msOf(() => {
      const request = TRANSLATIONS.get(api)!.caller.readRequest(members);
      JSON.stringify(upstream.writeRequest(request, endpoint, false, new LossLog()));
    });
    expect(ms).toBeLessThan(MOST_MS);
  });

  it('is passed on in linear time', () => {
    const body = Buffer.from(JSON.stringify(members));
    const ms = msOf(() =>
      dialectOf(api).toUpstream(body, endpoint, false, undefined, { isOwn: false, keepsNothing: true, tenant: 'acme' }),
    );
    expect(ms).toBeLessThan(MOST_MS);
  });
});

describe('a request with members in many spellings', () => {
  const GAPS = ['', '_', '-', '__'];
  const spelled = (name: string): string[] =>
    many((index) => [...name].map((letter, at) => letter + GAPS[(index >> (2 * at)) & 3]!).join(''));
  const objectOf = (names: readonly string[]): object => Object.fromEntries(names.map((name) => [name, 'k']));

  it.each(['promptcachekey', 'previousresponseid'])('is passed on in linear time: %s', (name) => {
    const body = { model: 'm', messages: [user()], ...objectOf(spelled(name)), extra_body: objectOf(spelled(name)) };
    const account = { isOwn: false, keepsNothing: true, tenant: 'acme' };
    const bytes = Buffer.from(JSON.stringify(body));
    const ms = msOf(() => dialectOf('chat').toUpstream(bytes, anEndpoint(), false, undefined, account));
    expect(ms).toBeLessThan(MOST_MS);
  });
});
