import { likelyPromptTokens, type StreamableApi } from '@libs/inference';
import fc from 'fast-check';
import type { Fields } from '../server-tools/named-tools';
import { middleOut } from './middle-out';
import { PromptMeter } from './prompt-meter';
import { RequestBody } from './request-body';
import { PluginBench } from './testing/plugin-bench';

const bodyOf = (messages: readonly object[], api: StreamableApi = 'chat'): RequestBody => {
  const parsed = { [api === 'responses' ? 'input' : 'messages']: messages };
  return new RequestBody(api, Buffer.from(JSON.stringify(parsed)), parsed as Fields);
};
const said = (role: string, content: unknown, more: object = {}) => ({ role, content, ...more });
const memory = { holder: 'ws', add: () => undefined, give: () => {} };
const meter = (): PromptMeter => new PromptMeter({ memory, signal: new AbortController().signal });
const compress = async (body: RequestBody, budget: number, by = meter()): Promise<RequestBody> =>
  middleOut(await by.measured(body), budget, by);
const tokens = ({ bytes }: RequestBody): number => likelyPromptTokens(bytes);
/** Of words that are a token each, with the space behind them four bytes. */
const long = (letter: string, length = 400): string => `${letter}oo `.repeat(length / 4);

describe(middleOut.name, () => {
  it('takes whole exchanges out of the middle, as few as it can', async () => {
    const exchanges = ['a', 'b', 'c', 'd', 'e'].flatMap((letter) => [
      said('user', long(letter)),
      said('assistant', long(letter.toUpperCase())),
    ]);
    const body = bodyOf([said('system', 'Be kind.'), ...exchanges]);
    const compressed = await compress(body, tokens(body) - 100);
    expect(compressed.turns.map(({ content }) => String(content)[0])).toEqual([
      'B',
      'a',
      'A',
      'b',
      'B',
      'd',
      'D',
      'e',
      'E',
    ]);
  });

  it('never parts the calls of tools from their results', async () => {
    const exchange = (name: string, role = 'tool') => [
      said('user', long('q')),
      said('assistant', null, {
        tool_calls: [{ id: name, type: 'function', function: { name: 'f', arguments: '{}' } }],
      }),
      said('developer', 'mind this'),
      said(role, long('r'), { tool_call_id: name }),
      said('assistant', 'done'),
    ];
    const body = bodyOf([...exchange('1'), ...exchange('2'), ...exchange('3')]);
    const { turns } = await compress(body, tokens(body) - 50);
    const whole = ['user', 'assistant', 'developer', 'tool', 'assistant'];
    expect(turns.map((turn) => turn['role'])).toEqual([...whole, 'developer', ...whole]);
  });

  it('takes a message of results on the messages API for a part of what was before', async () => {
    const result = said('user', [{ type: 'tool_result', tool_use_id: 't', content: long('r', 2_000) }]);
    const call = said('assistant', [{ type: 'tool_use', id: 't', name: 'f', input: {} }]);
    const body = bodyOf([said('user', 'q'), call, result, said('user', 'last')], 'messages');
    const { turns } = await compress(body, 200);
    expect(turns).toHaveLength(4);
    expect(JSON.stringify(turns[2])).toMatch(/"content":"[ro ]+\\n\[…\]\\n[ro ]+"/);
    expect(turns[3]).toEqual(said('user', 'last'));
  });

  it('cuts the longest texts in their middle where that is not enough, the last words only at the end', async () => {
    const middle = [
      said('user', 'short'),
      said('assistant', long('A', 4_000)),
      said('user', `first ${long('z', 1_000)} last`),
    ];
    const kept = (await compress(bodyOf(middle), 500)).turns;
    expect(kept[0]).toEqual(middle[0]);
    expect(kept[2]).toEqual(middle[2]);
    expect(kept[1]!['content']).toMatch(/^[Ao ]+\n\[…\]\n[Ao ]+$/);
    const cut = (await compress(bodyOf(middle), 200)).turns;
    expect(cut[2]!['content']).toMatch(/^first [zo ]+\n\[…\]\n[zo ]+ last$/);
  });

  it('measures a prompt that is not as its beginning but a few times, and lets others work meanwhile', async () => {
    const body = bodyOf([said('user', `${'漢1-{'.repeat(4_096)}${' '.repeat(24 * 1024 * 1024)}`)]);
    const by = meter();
    let turns = 0;
    let isOver = false;
    const others = (): void => {
      turns += 1;
      if (!isOver) setImmediate(others);
    };
    setImmediate(others);
    await compress(body, 28_000, by);
    isOver = true;
    expect(by.bytes).toBeLessThan(4 * body.bytes.length);
    expect(turns).toBeGreaterThan(1);
  });

  it('lets others work while it measures many turns', async () => {
    const body = bodyOf(Array.from({ length: 4_000 }, () => said('user', 'x'.repeat(2_000))));
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 0);
    await compress(body, 28_000);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(2);
  });

  it('reserves what it writes before it does, and is refused where there is no room', async () => {
    const added: number[] = [];
    const full = { ...memory, add: (bytes: number) => void added.push(bytes) };
    const by = new PromptMeter({ memory: full, signal: new AbortController().signal });
    const body = bodyOf([said('user', long('a', 400_000))]);
    const { bytes } = await compress(body, 10_000, by);
    expect(added[0]).toBeGreaterThan(5 * bytes.length);
    expect(added[0]).toBeLessThan(body.bytes.length * 8);
    const none = new PromptMeter({
      memory: { ...memory, add: () => Promise.reject(new Error('no room')) },
      signal: new AbortController().signal,
    });
    await expect(compress(body, 10_000, none)).rejects.toThrow('no room');
  });

  it('fits the budget whenever the texts can be cut so far, and leaves the parts of an item that are no text', async () => {
    const text = fc.string({ unit: 'grapheme', minLength: 0, maxLength: 3_000 });
    const turn = fc.oneof(
      fc.record({ role: fc.constantFrom('user', 'assistant'), content: text }),
      fc.record({ type: fc.constant('function_call_output'), call_id: fc.constant('c'), output: text }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(turn, { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 1_500, max: 5_000 }),
        async (turns, budget) => {
          const compressed = await compress(bodyOf(turns, 'responses'), budget);
          expect(tokens(compressed)).toBeLessThanOrEqual(budget);
          expect(
            compressed.turns.filter(({ type }) => type !== undefined).every((item) => item['call_id'] === 'c'),
          ).toBe(true);
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('context-compression', () => {
  let bench: PluginBench;
  beforeAll(async () => {
    bench = await PluginBench.start();
  });
  afterAll(() => bench.stop());

  const request = (messages: object[], more: object = {}) => ({
    model: 'test/text',
    messages,
    plugins: [{ id: 'context-compression' }],
    ...more,
  });

  it('works only on what does not fit the context of the model together with the answer', async () => {
    const turns = ['a', 'b', 'c'].flatMap((letter) => [said('user', long(letter)), said('assistant', long(letter))]);
    const fits = request(turns, { max_tokens: 100 });
    expect((await bench.prepare('chat', fits)).bytes).toBe(JSON.stringify(fits));
    const { body, stages } = await bench.prepare('chat', request(turns, { max_tokens: 500 }));
    expect(body['messages']).toHaveLength(4);
    expect(stages()).toEqual([
      {
        type: 'context_compression',
        name: 'context-compression',
        summary: 'engine=middle-out, messages=6 to 4',
        data: { engine: 'middle-out', input_type: 'messages', original_count: 6, compressed_count: 4 },
      },
    ]);
    const unknown = request(turns, { model: 'nobody/knows' });
    expect((await bench.prepare('chat', unknown)).bytes).toBe(JSON.stringify(unknown));
  });
});
