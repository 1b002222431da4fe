import fc from 'fast-check';
import { MalformedJson, MAX_CONTAINERS, MAX_NUMBERS, MAX_STRINGS, parseJson } from '@libs/json';
import { MAX_DEPTH, scanJsonShape } from './json-shape';

const shapeOf = (text: string): ReturnType<typeof scanJsonShape> => scanJsonShape(Buffer.from(text));

describe(scanJsonShape.name, () => {
  it('finds nothing wrong with ordinary JSON', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), (text) => {
        expect(shapeOf(text).problem).toBeNull();
      }),
    );
  });

  it('counts levels, and brackets inside strings are none', () => {
    expect(shapeOf('['.repeat(MAX_DEPTH)).problem).toBeNull();
    expect(shapeOf('['.repeat(MAX_DEPTH + 1)).problem).toBe('too many levels');
    expect(shapeOf(`{"${'['.repeat(100)}":"${'{'.repeat(100)}"}`).problem).toBeNull();
    expect(shapeOf(`"\\"${'['.repeat(100)}"`).problem).toBeNull();
    expect(shapeOf(`"\\\\"${'['.repeat(100)}`).problem).toBe('too many levels');
    expect(shapeOf('[]'.repeat(1_000)).problem).toBeNull();
  });

  it('counts values, empty arrays and objects among them', () => {
    expect(shapeOf(`[${'[],'.repeat(MAX_CONTAINERS)}[]]`).problem).toBe('too many values');
    expect(shapeOf(`[${'1,'.repeat(1_000)}1]`).problem).toBeNull();
  });

  it.each(['1e309', '-1E+400', '0.1e999', '12e00999', `${'1'.repeat(300)}e100`])(
    'finds the number %s, which the parser makes infinite and nothing can pass on',
    (number) => {
      for (const text of [number, `[${number}]`, `{"a":[{"b": ${number} }]}`]) {
        expect(shapeOf(text).problem).toBe('a number that is too large');
        expect(() => JSON.parse(text)).not.toThrow();
        expect(() => parseJson(Buffer.from(text))).toThrow(MalformedJson);
      }
    },
  );

  it.each(['1e308', '1e-400', '0e999', '123', '1'.repeat(400), '-1.5E+100', '"1e999"', 'false'])(
    'takes %s',
    (number) => {
      expect(shapeOf(`[${number}]`).problem).toBeNull();
      expect(() => parseJson(Buffer.from(`[${number}]`))).not.toThrow();
    },
  );

  it('does not look at a text to its end that can be no JSON', () => {
    expect(shapeOf(`[${','.repeat(900_000)}]`).problem).toBeNull();
    expect(shapeOf(`[${','.repeat(900_001)}]`).problem).toBe('too many values');
    expect(shapeOf('"a" '.repeat(MAX_STRINGS + 1)).problem).toBe('too many values');
    expect(shapeOf('1 '.repeat(MAX_NUMBERS + 1)).problem).toBe('too many values');
    expect(shapeOf('{"a":[]}').problem).toBeNull();
    expect(shapeOf('{"a":[]}}').problem).toBe('a closing bracket too many');
  });

  it('passes over white space and colons wherever they are', () => {
    const spaced = shapeOf(' { "messages" :\n[ { "content"\t:: "hello you" } , 1 ] } \r\n');
    expect(spaced).toEqual(shapeOf('{"messages":[{"content":"hello you"},1]}'));
  });

  it.each([
    ['{"a\\u0062":1}', true],
    ['{"ab" : "\\n"}', false],
    ['["a\\u0062"]', false],
    [`{"${'x'.repeat(100)}\\t"\n:1}`, true],
    ['{"a":{"\\"":1}}', true],
    ['{"a":"\\":"}', false],
  ])('knows whether a name in %s is written with an escape', (text, hasEscapedKey) => {
    expect(shapeOf(text)).toMatchObject({ problem: null, hasEscapedKey });
  });

  it('takes time in proportion to the text, whatever stands in it', () => {
    const hostile = [
      `{${'"\\"":0,'.repeat(50_000)}`,
      `"${'\\"'.repeat(500_000)}`,
      `{${`"${'x'.repeat(100)}":0,`.repeat(9_000)}`,
      ' '.repeat(1_000_000),
      '"'.repeat(1_000_000),
    ];
    for (const text of hostile) {
      const bytes = Buffer.from(text);
      const before = process.threadCpuUsage();
      scanJsonShape(bytes);
      const { user, system } = process.threadCpuUsage(before);
      expect((user + system) / 1_000).toBeLessThan(1_000);
    }
  });
});
