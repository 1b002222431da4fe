import fc from 'fast-check';
import { MalformedJson } from './json-cursor';
import { findJsonObject, parseJson } from './json-value';

const anyKey = fc.oneof(fc.constantFrom('a', '"', '\\', '\u0000', '__proto__', 'constructor', ''), fc.string());
const anyObject = fc.dictionary(anyKey, fc.jsonValue({ maxDepth: 3 }), { maxKeys: 6, noNullPrototype: true });

describe(parseJson.name, () => {
  it('gives back what was written, whatever its keys', () => {
    fc.assert(
      fc.property(anyObject, fc.nat(2), (object, indent) => {
        const value = parseJson(Buffer.from(JSON.stringify(object, null, indent)));
        expect(Object.keys(value as object)).toEqual(Object.keys(object));
        expect(JSON.stringify(value)).toBe(JSON.stringify(object));
      }),
      { numRuns: 300 },
    );
  });

  it('makes a member of __proto__ and nobody’s prototype', () => {
    const value = parseJson(Buffer.from('{"__proto__":{"isAdmin":true}}')) as { isAdmin?: boolean };
    expect(value.isAdmin).toBeUndefined();
    expect(Object.keys(value)).toEqual(['__proto__']);
  });

  it('lets the last of two members of a name count', () => {
    expect(parseJson(Buffer.from('{"a":1,"a":2}'))).toEqual({ a: 2 });
  });

  const nested = (depth: number, inside: string): string => '['.repeat(depth) + inside + ']'.repeat(depth);

  it.each(['', '{', '{"a":}', '[1,]', '{} x', 'NaN', '"\\x"', '['.repeat(200), nested(129, ''), '{"a":[1e999]}'])(
    'refuses %j',
    (text) => {
      expect(() => parseJson(Buffer.from(text))).toThrow(MalformedJson);
    },
  );

  it.each(['1', '"\\n"'])('reads as deep as the bound, with %s inside', (inside) => {
    const text = nested(128, inside);
    expect(JSON.stringify(parseJson(Buffer.from(text)))).toBe(text);
  });
});

describe(findJsonObject.name, () => {
  function read(text: string): unknown {
    try {
      return parseJson(Buffer.from(text));
    } catch (thrown) {
      if (thrown instanceof MalformedJson) return null;
      throw thrown;
    }
  }

  it.each(['{"a":1}', ' {"a\\u0062":"\\n"}\n', '{}', `{"a":${'1'.repeat(400)}}`])(
    'reads %s as parseJson does',
    (text) => {
      expect(findJsonObject(text)).toEqual(read(text));
      expect(findJsonObject(text)).not.toBeNull();
    },
  );

  it.each([
    '',
    '{',
    'x',
    '1',
    'null',
    '[{}]',
    '"{}"',
    '{"a":}',
    '{"\\n":}',
    '{"a":1e999}',
    '{} {}',
    '\u00a0{}',
    '{"a":1}x',
  ])('finds none in %j', (text) => {
    expect(findJsonObject(text)).toBeNull();
  });

  it('finds what parseJson reads, and nothing else', () => {
    const anyText = fc.oneof(
      fc.json(),
      fc.string(),
      fc.json().map((text) => `{"a":${text}}`),
      fc.json().map((text) => text.slice(1)),
    );
    fc.assert(
      fc.property(anyText, (text) => {
        const value = read(text);
        const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
        expect(findJsonObject(text)).toEqual(isObject ? value : null);
      }),
    );
  });
});
