import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import type { UpstreamStream } from '../../wire/upstream-stream';
import { aModel, anEndpoint, textOf } from '../../testing';
import { OpenAiChatStream } from './relayed-stream';

/** A body that arrives in these pieces. */
function bodyOf(pieces: readonly Buffer[]): UpstreamStream {
  const left = [...pieces];
  return { read: async () => left.shift() ?? null, leave: () => 0, cancel: () => undefined, discard: () => undefined };
}

function cut(body: Buffer, cuts: readonly number[]): Buffer[] {
  const offsets = [0, ...cuts.map((at) => at % body.length).sort((a, b) => a - b), body.length];
  return offsets.slice(1).map((end, i) => body.subarray(offsets[i], end));
}

const endpoint = anEndpoint();
const context = {
  generationId: 'gen-1-abc',
  model: aModel({ endpoints: [endpoint] }),
  endpoint,
  priceList: 'standard' as const,
  beganMs: 0,
  requestBody: Buffer.from('{"messages":[]}'),
};

/** Members in any order; the choices among them, never last of all names that stay the same. */
const anyChunk = fc
  .record(
    {
      id: fc.constantFrom('chatcmpl-1', 'chatcmpl-2', null),
      model: fc.constantFrom('m', 'n'),
      created: fc.constantFrom(1, 2),
      system_fingerprint: fc.constantFrom('fp', 'ü', null),
      usage: fc.constantFrom(null, { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 }),
      'odd "key"': fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown),
    },
    { requiredKeys: [] },
  )
  .chain((members) => {
    const choices = fc.array(
      fc.record({
        index: fc.nat(3),
        delta: fc.record({ content: fc.string({ unit: 'grapheme' }) }),
        finish_reason: fc.constant(null),
      }),
      { maxLength: 2 },
    );
    const entries = choices.map((list): [string, unknown][] => [...Object.entries(members), ['choices', list]]);
    return entries.chain((list) => fc.shuffledSubarray(list, { minLength: list.length, maxLength: list.length }));
  })
  .map(
    (entries) =>
      JSON.parse(
        `{${entries.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join()}}`,
      ) as Record<string, unknown>,
  );

interface Chunk {
  readonly choices: readonly { readonly delta: object }[];
}

/** The pieces of tool calls in a stream of these deltas, as callers get them. */
async function callsThrough(deltas: readonly (readonly object[])[]): Promise<readonly object[]> {
  const chunks = deltas.map((tool_calls) => ({ delta: { role: 'assistant', tool_calls }, index: 0 }));
  const sent = [...chunks, { delta: {}, index: 0, finish_reason: 'tool_calls' }].map(
    (choice) => `data: ${JSON.stringify({ choices: [choice], id: 'c', model: 'm' })}\n\n`,
  );
  const stream = await OpenAiChatStream.open(bodyOf([Buffer.from(`${sent.join('')}data: [DONE]\n\n`)]), context);
  const events: string[] = [];
  createParser({ onEvent: ({ data }) => events.push(data) }).feed(await textOf(stream));
  const got = events.filter((data) => data !== '[DONE]').map((data) => JSON.parse(data) as Chunk);
  return got.flatMap(({ choices }) =>
    choices.flatMap(({ delta }) => (delta as { tool_calls?: object[] }).tool_calls ?? []),
  );
}

const aCall = (id: string | undefined, name: string, text: string, more: object = {}) => ({
  ...more,
  ...(id !== undefined && { id }),
  type: 'function',
  function: { name, arguments: text },
});

const chunkOf = (content: string, finish: string): string =>
  `data: {"choices":[{"index":0,"delta":{"content":"${content}"},"finish_reason":"${finish}"}]}\n\n`;

describe(OpenAiChatStream.name, () => {
  it.each([
    ['in chunks of their own', [[aCall('a', 'f', '{"x":1}')], [aCall('b', 'f', '{}')]]],
    ['in one chunk', [[aCall('a', 'f', '{"x":1}'), aCall('b', 'f', '{}')]]],
    ['with one index', [[aCall('a', 'f', '{"x":1}', { index: 0 })], [aCall('b', 'f', '{}', { index: 0 })]]],
    ['with a new name', [[aCall('a', 'f', '{"x":1', { index: 0 })], [aCall('b', 'g', '{}', { index: 0 })]]],
  ])('numbers tool calls that come without an index or with the same one, %s', async (_how, deltas) => {
    expect(await callsThrough(deltas)).toMatchObject([
      { index: 0, id: 'a' },
      { index: 1, id: 'b' },
    ]);
  });

  it('numbers the pieces of a call as the call', async () => {
    const rest = (text: string, more: object = {}) => ({ ...more, function: { arguments: text } });
    const deltas = [[aCall('a', 'f', '{}')], [aCall('b', 'g', '{"x"')], [rest(':1')], [rest('}')]];
    const got = await callsThrough(deltas);
    expect(got.map((call) => (call as { index: number }).index)).toEqual([0, 1, 1, 1]);
    const same = [
      [aCall('a', 'f', '{}', { index: 0 })],
      [aCall('b', 'f', '{"x"', { index: 0 })],
      [rest(':1}', { index: 0 })],
    ];
    expect(await callsThrough(same)).toMatchObject([{ index: 0 }, { index: 1 }, { index: 1 }]);
  });

  it('gives tool calls without an id one, in their first piece', async () => {
    const deltas = [
      [aCall('', 'f', '{"x"', { index: 0 })],
      [{ index: 0, function: { arguments: ':1}' } }],
      [aCall(undefined, 'g', '{}', { index: 1 })],
    ];
    const made = expect.stringMatching(/^call_[\da-f-]{36}$/);
    const ids = new Set<unknown>();
    for (const got of [await callsThrough(deltas), await callsThrough(deltas)]) {
      const [first, rest, second] = got.map((call) => (call as { id?: string }).id);
      expect([first, rest, second]).toEqual([made, undefined, made]);
      ids.add(first).add(second);
    }
    expect(ids.size).toBe(4);
  });

  it('passes on tool calls as they are where they have what they need', async () => {
    const deltas = [
      [aCall('a', 'f', '{"x"', { index: 1, extra_content: {} })],
      [{ index: 1, id: null, function: { arguments: ':1}' } }],
      [aCall('b', 'f', '{}', { index: 0 })],
    ];
    expect(await callsThrough(deltas)).toEqual(deltas.flat());
  });

  it('shows no thoughts to who asked for none, also where chunks begin alike, and charges for them', async () => {
    const chunk = (delta: object, finish: string | null = null) =>
      `data: {"id":"c","model":"m","choices":[${JSON.stringify({ index: 0, delta, finish_reason: finish })}]}\n\n`;
    const body = Buffer.from(
      [
        chunk({ role: 'assistant', reasoning: 'Let me see' }),
        chunk({ reasoning_content: 'Let me see', content: 'Yes' }),
        chunk({ reasoning_details: [{ type: 'reasoning.text', text: 'Let me see' }] }),
        chunk({ content: '!' }, 'stop'),
        'data: [DONE]\n\n',
      ].join(''),
    );
    const read = async (request: string) => {
      const requestBody = Buffer.from(request);
      const stream = await OpenAiChatStream.open(bodyOf([body]), { ...context, requestBody });
      const events: string[] = [];
      const parser = createParser({ onEvent: ({ data }) => events.push(data) });
      parser.feed(await textOf(stream));
      const chunks = events.filter((data) => data !== '[DONE]').map((data) => JSON.parse(data) as Chunk);
      const { usage } = await stream.outcome;
      return { deltas: chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta)), usage };
    };
    const hidden = await read('{"messages":[],"reasoning":{"exclude":true}}');
    const shown = await read('{"messages":[],"reasoning":{"effort":"low"}}');
    expect(hidden.deltas).toEqual([{ role: 'assistant' }, { content: 'Yes' }, {}, { content: '!' }]);
    expect(shown.deltas[1]).toEqual({ reasoning_content: 'Let me see', reasoning: 'Let me see', content: 'Yes' });
    expect(hidden.usage.completionTokens).toBe(shown.usage.completionTokens);
  });

  it('changes our names and the usage of any chunk, leaves out a usage and a fingerprint of null, and changes nothing else, wherever the network cuts', async () => {
    const chunks = fc.array(anyChunk, { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(chunks, fc.array(fc.nat(), { maxLength: 8 }), async (first, cuts) => {
        const usage = first.find((chunk) => chunk['usage'])?.['usage'];
        const end = { choices: [{ index: 0, delta: {}, finish_reason: 'stop', native_finish_reason: 'stop' }] };
        const list: Record<string, unknown>[] = [...first, end, ...(usage ? [{ choices: [], usage }] : [])];
        const body = Buffer.from(
          [...list.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), 'data: [DONE]\n\n'].join(''),
        );
        const stream = await OpenAiChatStream.open(bodyOf(cut(body, cuts)), context);
        const events: string[] = [];
        const parser = createParser({ onEvent: ({ data }) => events.push(data) });
        parser.feed(await textOf(stream));
        expect(events.pop()).toBe('[DONE]');
        const seen = events.map((data) => JSON.parse(data) as Record<string, unknown>);
        const reported = usage !== undefined;
        expect(seen).toHaveLength(list.length + (reported ? 0 : 1));
        list.forEach((chunk, i) =>
          expect(seen[i]).toEqual({
            ...Object.fromEntries(
              Object.entries(chunk).filter(
                ([key, value]) => value !== null || (key !== 'usage' && key !== 'system_fingerprint'),
              ),
            ),
            id: 'gen-1-abc',
            model: 'acme/large',
            provider: 'Acme',
            ...(chunk['usage']
              ? { usage: { ...chunk['usage'], cost: 0.000011, cost_details: expect.anything(), is_byok: false } }
              : {}),
          }),
        );
        expect(await stream.outcome).toMatchObject({
          state: 'completed',
          usage: { provenance: reported ? 'upstream' : 'estimated' },
        });
      }),
      { numRuns: 300 },
    );
  });

  it('completes the usage of every chunk, wherever it stands in the chunk', async () => {
    const event = 'data: {"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7},"choices":[]}\n\n';
    const body = `${chunkOf('Whole', 'stop')}${event}${event}data: [DONE]\n\n`;
    const stream = await OpenAiChatStream.open(bodyOf([Buffer.from(body)]), context);
    const text = await textOf(stream);
    expect(text.match(/"cost":0\.000011/g)).toHaveLength(2);
  });

  it('takes bytes after [DONE] for nothing', async () => {
    const body = Buffer.from(
      'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\ndata: {"error":{"message":"late"}}\n\n',
    );
    const stream = await OpenAiChatStream.open(bodyOf([body]), context);
    const text = await textOf(stream);
    expect(text).not.toContain('late');
    expect(await stream.outcome).toMatchObject({ state: 'completed', finishReason: 'stop' });
  });

  it('takes no chunk for the last one because its finish reason is an empty text', async () => {
    const body = Buffer.from(`${chunkOf('Half', '')}${chunkOf(' an answer', '')}`);
    const stream = await OpenAiChatStream.open(bodyOf([body]), context);
    const text = await textOf(stream);
    expect(text).not.toContain('"stop"');
    expect(text).toContain('"error":{"code":502');
    expect(await stream.outcome).toMatchObject({ state: 'failed' });
  });

  it.each([
    ['null', 'null'],
    ['an empty text', '""'],
    ['a number', '5'],
  ])('takes no stream for whole that ends with [DONE] and a finish reason of %s', async (_what, reason) => {
    const chunk = `data: {"choices":[{"index":0,"delta":{"content":"Half"},"finish_reason":${reason}}]}\n\n`;
    const usage = 'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}\n\n';
    const stream = await OpenAiChatStream.open(
      bodyOf([Buffer.from(chunk), Buffer.from(`${usage}data: [DONE]\n\n`)]),
      context,
    );
    const text = await textOf(stream);
    expect(text).toContain('"finish_reason":"error"');
    expect(text).toContain('"error":{"code":502');
    expect(text.match(/\[DONE\]/g)).toHaveLength(1);
    expect(await stream.outcome).toMatchObject({ state: 'failed', usage: { promptTokens: 3, completionTokens: 4 } });
  });

  it('shows the end of an answer whose chunks say an empty text until then', async () => {
    const body = Buffer.from(`${chunkOf('Whole', '')}${chunkOf('', 'stop')}data: [DONE]\n\n`);
    const stream = await OpenAiChatStream.open(bodyOf([body]), context);
    const text = await textOf(stream);
    expect(text.match(/"finish_reason":[^,}]+/g)).toEqual(['"finish_reason":null', '"finish_reason":"stop"']);
    expect(await stream.outcome).toMatchObject({ state: 'completed', finishReason: 'stop' });
  });

  const broken = { message: 'boom', code: 429 };
  it.each([
    ['in the field x_groq', `data: ${JSON.stringify({ choices: [], x_groq: { id: 'r', error: 'over capacity' } })}`],
    ['as an object of its own', `data: ${JSON.stringify({ object: 'error', ...broken })}`],
    ['in the name of its event', `event: error\ndata: ${JSON.stringify(broken)}`],
  ])('ends with an error where the upstream reports one %s', async (_where, event) => {
    const pieces = [chunkOf('Half', ''), `${event}\n\ndata: [DONE]\n\n`];
    const stream = await OpenAiChatStream.open(bodyOf(pieces.map((piece) => Buffer.from(piece))), context);
    expect(await textOf(stream)).toContain('"finish_reason":"error"');
    expect(await stream.outcome).toMatchObject({ state: 'failed' });
  });

  it.each(['error', 'insufficient_system_resource', 'abort', 'network_error', 'function_call_filter: OTHER'])(
    'ends with an error where the upstream ends with %s',
    async (end) => {
      const pieces = [chunkOf('Half', ''), `${chunkOf('', end)}data: [DONE]\n\n`];
      const stream = await OpenAiChatStream.open(bodyOf(pieces.map((piece) => Buffer.from(piece))), context);
      expect(await textOf(stream)).toContain('"error":{"code":502');
      expect(await stream.outcome).toMatchObject({ state: 'failed' });
    },
  );
});
