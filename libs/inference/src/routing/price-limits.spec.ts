import { parseRate } from '../pricing/money';
import { aModel, anEndpoint } from '../testing';
import { hardFilters } from './route-filters';

const RATES = { prompt: parseRate('0.0000003'), completion: parseRate('0.0000025') };
const LIMIT = { completionPerMillion: parseRate('5') };

describe('max_price of a completion', () => {
  it.each([
    ['text alone', {}, true],
    ['pictures', { imageOutputToken: parseRate('0.00012') }, false],
    ['sound', { audioOutput: parseRate('0.00002') }, false],
  ])('judges the dearest token of an answer: %s', (_what, more, isKept) => {
    const endpoint = anEndpoint({ pricing: { ...RATES, ...more } });
    const contender = { model: aModel({ endpoints: [endpoint] }), endpoint, credential: null };
    const filters = hardFilters({ api: 'chat', models: ['acme/large'], preferences: { maxPrice: LIMIT } } as never);
    expect(filters.every(({ keeps }) => keeps(contender as never))).toBe(isKept);
  });
});
