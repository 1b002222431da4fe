import { likelyPromptTokens, type StreamableApi } from '@libs/inference';
import fc from 'fast-check';
import type { Fields } from '../server-tools/named-tools';
import { middleOut } from './middle-out';
import { RequestBody } from './request-body';
import { PluginBench } from './testing/plugin-bench';

const bodyOf = (messages: readonly object[], api: StreamableApi = 'chat'): RequestBody => {
  const parsed = { [api === 'responses' ? 'input' : 'messages']: messages };
  return new RequestBody(api, Buffer.from(JSON.stringify(parsed)), parsed as Fields);
};
const said = (role: string, content: unknown, more: object = {}) => ({ role, content, ...more });
const tokens = ({ bytes }: RequestBody): number => likelyPromptTokens(bytes);
/** Of words that are a token each, with the space behind them four bytes. */
const long = (letter: string, length = 400): string => `${letter}oo `.repeat(length / 4);

describe(middleOut.name, () => {
  it('takes whole exchanges out of the middle, as few as it can', () => {
    const exchanges = ['a', 'b', 'c', 'd', 'e'].flatMap((letter) => [
      said('user', long(letter)),
      said('assistant', long(letter.toUpperCase())),
    ]);
    const body = bodyOf([said('system', 'Be kind.'), ...exchanges]);
    const compressed = middleOut(body, tokens(body) - 100);
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

  it('never parts the calls of tools from their results', () => {
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
    const { turns } = middleOut(body, tokens(body) - 50);
    const whole = ['user', 'assistant', 'developer', 'tool', 'assistant'];
    expect(turns.map((turn) => turn['role'])).toEqual([...whole, 'developer', ...whole]);
  });

  it('takes a message of results on the messages API for a part of what was before', () => {
    const result = said('user', [{ type: 'tool_result', tool_use_id: 't', content: long('r', 2_000) }]);
    const call = said('assistant', [{ type: 'tool_use', id: 't', name: 'f', input: {} }]);
    const body = bodyOf([said('user', 'q'), call, result, said('user', 'last')], 'messages');
    const { turns } = middleOut(body, 200);
    expect(turns).toHaveLength(4);
    expect(JSON.stringify(turns[2])).toMatch(/"content":"[ro ]+\\n\[…\]\\n[ro ]+"/);
    expect(turns[3]).toEqual(said('user', 'last'));
  });

  it('cuts the longest texts in their middle where that is not enough, the last words only at the end', () => {
    const middle = [
      said('user', 'short'),
      said('assistant', long('A', 4_000)),
      said('user', `first ${long('z', 1_000)} last`),
    ];
    const kept = middleOut(bodyOf(middle), 500).turns;
    expect(kept[0]).toEqual(middle[0]);
    expect(kept[2]).toEqual(middle[2]);
    expect(kept[1]!['content']).toMatch(/^[Ao ]+\n\[…\]\n[Ao ]+$/);
    const cut = middleOut(bodyOf(middle), 200).turns;
    expect(cut[2]!['content']).toMatch(/^first [zo ]+\n\[…\]\n[zo ]+ last$/);
  });

  it('fits the budget whenever the texts can be cut so far, and leaves the parts of an item that are no text', () => {
    const text = fc.string({ unit: 'grapheme', minLength: 0, maxLength: 3_000 });
    const turn = fc.oneof(
      fc.record({ role: fc.constantFrom('user', 'assistant'), content: text }),
      fc.record({ type: fc.constant('function_call_output'), call_id: fc.constant('c'), output: text }),
    );
    fc.assert(
      fc.property(
        fc.array(turn, { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 1_500, max: 5_000 }),
        (turns, budget) => {
          const compressed = middleOut(bodyOf(turns, 'responses'), budget);
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
