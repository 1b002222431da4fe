import { Bm25 } from './bm25';

const index = new Bm25(
  ['get_weather: the weather of a city', 'sendEmail: sends an email to somebody', 'get_user: reads a user', 'reads'],
  (text) => text,
);

describe(Bm25.name, () => {
  it('finds what shares words with the query, rare ones first', () => {
    expect(index.search('weather in Berlin', 9)).toEqual(['get_weather: the weather of a city']);
    expect(index.search('get the user', 1)).toEqual(['get_user: reads a user']);
  });

  it('reads the words inside names, in any case', () => {
    expect(index.search('SEND', 9)).toEqual(['sendEmail: sends an email to somebody']);
  });

  it('prefers the shorter of two that say it equally often', () => {
    expect(index.search('reads', 9)).toEqual(['reads', 'get_user: reads a user']);
  });

  it('finds nothing where nothing matches', () => {
    expect(index.search('…', 9)).toEqual([]);
    expect(new Bm25([], String).search('a', 9)).toEqual([]);
  });
});
