import { parse } from './word-match';

const TEXTS = [
  'get_weather: the weather of a city',
  'sendEmail: sends an email to somebody',
  'get_user: reads a user',
  'reads',
];
const search = (query: string, most: number, texts = TEXTS): readonly (string | undefined)[] =>
  parse(Buffer.from(JSON.stringify(texts)), { query, most }).places.map((place) => texts[place]);

describe('a search for words', () => {
  it('finds what shares words with the query, rare ones first', () => {
    expect(search('weather in Berlin', 9)).toEqual(['get_weather: the weather of a city']);
    expect(search('get the user', 1)).toEqual(['get_user: reads a user']);
  });

  it('reads the words inside names, in any case', () => {
    expect(search('SEND', 9)).toEqual(['sendEmail: sends an email to somebody']);
  });

  it('prefers the shorter of two that say it equally often', () => {
    expect(search('reads', 9)).toEqual(['reads', 'get_user: reads a user']);
  });

  it('finds nothing where nothing matches', () => {
    expect(search('…', 9)).toEqual([]);
    expect(search('a', 9, [])).toEqual([]);
  });
});
