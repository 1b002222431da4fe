import { scanJsonShape } from './json-shape';
import { withoutDoubledNames } from '@libs/json';

const cleaned = (json: string): string => withoutDoubledNames(Buffer.from(json)).toString();
const mayNameTwice = (json: string): boolean => scanJsonShape(Buffer.from(json)).mayNameTwice;

describe(withoutDoubledNames.name, () => {
  it.each([
    ['{"a":1,"a":2}', '{"a":2}'],
    ['{"a":{"url":"x","url":"y"}}', '{"a":{"url":"y"}}'],
    [
      '{"a":[1,[{"b":1, "c" : {"d":1,"d":2} ,"b":{"e":1,"f":0,"e":3}}]]}',
      '{"a":[1,[{"c" : {"d":2} ,"b":{"f":0,"e":3}}]]}',
    ],
    ['{"a":1,"b":2,"a":3,"a":4,"c":5,"c":6}', '{"b":2,"a":4,"c":6}'],
    ['{"\\u0075rl":1,"url":2}', '{"url":2}'],
    ['{"__proto__":1,"constructor":2,"__proto__":3}', '{"constructor":2,"__proto__":3}'],
  ])('leaves the last of each name in %s', (json, expected) => {
    expect(cleaned(json)).toBe(expected);
    expect(mayNameTwice(json)).toBe(true);
  });

  it('gives the same bytes back where each name stands once', () => {
    const body = Buffer.from('{ "a": [1.0, {"b": {"a": 1e2}}, {"b": "\\u0041"}] }');
    expect(withoutDoubledNames(body)).toBe(body);
  });

  it('reads any object as the parser does', () => {
    let seed = 1;
    const next = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
    const value = (depth: number): string => {
      const kind = depth === 0 ? 0 : next(3);
      if (kind === 0) return ['1', '"x"', 'null', '-2.50', '[]', '{}'][next(6)]!;
      const inner = Array.from({ length: next(5) }, () => value(depth - 1));
      if (kind === 1) return `[${inner.join(' , ')}]`;
      return `{ ${inner.map((one) => `"${'abc'[next(3)]}" :${one}`).join(', ')}}`;
    };
    for (let round = 0; round < 2_000; round += 1) {
      const json = `{"top":${value(5)}}`;
      const once = cleaned(json);
      expect(JSON.parse(once)).toEqual(JSON.parse(json));
      expect(cleaned(once)).toBe(once);
      expect(once === json || mayNameTwice(json)).toBe(true);
    }
  });

  it('needs a time in proportion to the length', () => {
    const names = Array.from({ length: 9_000 }, (_, index) => `"n${index}":{"a":1,"a":2}`).join();
    const json = Buffer.from(`{"l":[${Array.from({ length: 10 }, () => `{${names}}`).join()}]}`);
    const before = process.cpuUsage();
    expect(scanJsonShape(json).mayNameTwice).toBe(true);
    expect(withoutDoubledNames(json).length).toBeLessThan(json.length);
    expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
  });
});

describe('the scan of a body', () => {
  it.each([
    '{"a":1,"b":{"a":1,"b":2},"c":[{"a":1},{"a":2}]}',
    JSON.stringify(Object.fromEntries(Array.from({ length: 64 }, (_, index) => [`member_${index}`, index]))),
    '{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}],"metadata":{"a":"b"}}',
  ])('notes no doubled name in an ordinary one', (json) => {
    expect(mayNameTwice(json)).toBe(false);
  });

  it.each(['metadata', 'provider', 'messages', 'x'])('notes one below %s', (name) => {
    expect(mayNameTwice(`{"${name}":[{"url":{"a":1,"b":2},"url":3}]}`)).toBe(true);
  });
});
