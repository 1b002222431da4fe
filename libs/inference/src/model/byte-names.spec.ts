import { ByteNames } from './byte-names';

describe(ByteNames.name, () => {
  const names = new ByteNames({ model: 'a', type: 'b', url: 'c' });
  const find = (text: string, start = 0, end = text.length): string | undefined =>
    names.find(Buffer.from(text), start, end);

  it('finds a name by all of its bytes', () => {
    expect(['model', 'type', 'url'].map((name) => find(name))).toEqual(['a', 'b', 'c']);
    expect(find('{"type":1}', 2, 6)).toBe('b');
  });

  it.each(['text', 'typ', 'types', 'ype', 'modem', ''])('does not take %j for a name', (text) => {
    expect(find(text)).toBeUndefined();
  });

  it('refuses names that it cannot distinguish', () => {
    expect(() => new ByteNames({ text: 1, type: 2 })).toThrow('type has the length and the first byte of another name');
  });
});
