import { scanJsonShape } from './json-shape';
import { heapTakenBy } from '@libs/json/testing';
import { MAX_CONTAINERS, MAX_MEMBERS, MAX_NUMBERS, MAX_STRINGS, ParsedSize } from '@libs/json';

const listOf = (count: number, item: (at: number) => string): string =>
  `[${Array.from({ length: count }, (_, at) => item(at)).join(',')}]`;

const objectOf = (names: readonly string[]): string => `{${names.map((name) => `"${name}":1`).join(',')}}`;

/** Each of a kind that takes much memory for its text. */
const KINDS: Readonly<Record<string, (at: number) => string>> = {
  'empty objects': () => '{}',
  'empty lists': () => '[]',
  'lists of one': () => '[1]',
  'nested objects': () => '[{}]',
  numbers: () => '1',
  'numbers of two kinds': (at) => (at % 2 === 0 ? '1.5' : '"a"'),
  'short strings': (at) => `"${at.toString(36)}"`,
  'strings with wide characters': (at) => `"五${at.toString(36)}"`,
  'objects of one shape': () => '{"role":"user","content":""}',
  'an index for a name': () => '{"9":1}',
  'a high index for a name': () => '{"99":1}',
  'chains of indexes': () => `${'{"9":'.repeat(50)}0${'}'.repeat(50)}`,
  'a name of its own': (at) => objectOf([`x${at.toString(36)}`]),
  'five names of its own': (at) => objectOf(['a', 'b', 'c', 'd', 'e'].map((name) => name + at.toString(36))),
  'thirty names of its own': (at) => objectOf(Array.from({ length: 30 }, (_, nth) => `${nth}x${at}`)),
  'many names': (at) => objectOf(Array.from({ length: 1_030 }, (_, nth) => `${nth}x${at}`)),
  'many indexes': (at) => objectOf(Array.from({ length: 1_030 }, (_, nth) => String(nth * 1_000 + at))),
};

describe(ParsedSize.name, () => {
  it.each(Object.entries(KINDS))('says no less than %s take', (_, item) => {
    const valuesOfOne = (item(0).match(/[[{:,"]/g)?.length ?? 0) + 1;
    const text = listOf(Math.ceil(40_000 / valuesOfOne), item);
    const { valueBytes, problem } = scanJsonShape(Buffer.from(text));
    expect(problem).toBeNull();
    expect(heapTakenBy(() => JSON.parse(text))).toBeLessThan(valueBytes + text.length);
  });

  it('says little of a request that is mostly text', () => {
    const messages = Array.from({ length: 100 }, () => ({ role: 'user', content: 'word '.repeat(200) }));
    const text = JSON.stringify({ model: 'a/b', messages });
    expect(scanJsonShape(Buffer.from(text)).valueBytes).toBeLessThan(text.length);
  });

  it.each([
    ['objects', MAX_CONTAINERS - 1, '{}'],
    ['lists', MAX_CONTAINERS - 1, '[]'],
    ['members', MAX_MEMBERS / 5, '{"a":1,"b":1,"c":1,"d":1,"e":1}'],
    ['strings', MAX_STRINGS, '""'],
    ['numbers', MAX_NUMBERS, '1'],
  ])('allows so many %s and no more', (_, count, item) => {
    const problemOf = (items: number): string | null => scanJsonShape(Buffer.from(listOf(items, () => item))).problem;
    expect(problemOf(count)).toBeNull();
    expect(problemOf(count + 2)).toBe('too many values');
  });
});
