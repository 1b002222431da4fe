import fc from 'fast-check';
import { shownValue } from './shown-value';

describe(shownValue, () => {
  it.each<[unknown, string]>([
    [3, '3'],
    [-0.5, '-0.5'],
    [true, 'true'],
    [null, 'null'],
    ['banana', '"banana"'],
    ['12', '"12"'],
    ['2026-02-30', '"2026-02-30"'],
    ['2026-02-30T10:00:00Z', '"2026-02-30T10:00:00Z"'],
    ['', 'an empty string'],
    ['   ', 'a string of 3 characters'],
    ['what a day', 'a string of 10 characters'],
    [[], 'an empty array'],
    [[1, 2], 'an array of 2'],
    [{ a: 1 }, 'an object'],
  ])('shows %j as %s', (value, shown) => {
    expect(shownValue('role', value)).toBe(shown);
  });

  it.each(['sk-secret', 'Bearer abc', 'a'.repeat(25), 'AKIA1234', 'x'.repeat(9_000), 'a\nb', 'eyJ.eyJ.sig'])(
    'shows only the length of %p, which may be a secret',
    (value) => {
      expect(shownValue('role', value)).toBe(`a string of ${value.length} characters`);
    },
  );

  it.each(['key', 'management_key', 'messages[0].tools[1].authorization', 'code_verifier', 'mcp_servers[0].apiKey'])(
    'shows only the type of %s, which is for secrets',
    (path) => {
      expect(shownValue(path, 'banana')).toBe('a string of 6 characters');
      expect(shownValue(path, 123456)).toBe('a number');
    },
  );

  it('shows a count of tokens, which is no secret', () => {
    expect(shownValue('max_tokens', 0)).toBe('0');
  });

  it('is short and one line for every value', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(shownValue('member', value)).toMatch(/^.{1,40}$/);
      }),
    );
  });
});
