import fc from 'fast-check';
import { parseRate } from '../pricing/money';
import { readRoutingPreferences } from './route-preferences';

describe(readRoutingPreferences.name, () => {
  it('reads every member', () => {
    const read = readRoutingPreferences({
      order: ['a'],
      only: ['b'],
      ignore: ['c'],
      allow_fallbacks: false,
      require_parameters: true,
      data_collection: 'deny',
      zdr: true,
      enforce_distillable_text: true,
      quantizations: ['fp8'],
      sort: { by: 'latency', partition: 'none' },
      max_price: { prompt: '1.5', completion: 2, audio: null, image: '0.01', request: 0 },
      preferred_min_throughput: 40,
      preferred_max_latency: { p50: 1, p90: 3, p99: null },
      options: { a: { b: 1 } },
    });
    expect(read).toEqual({
      order: ['a'],
      only: ['b'],
      ignore: ['c'],
      allowFallbacks: false,
      requireParameters: true,
      dataCollection: 'deny',
      zdr: true,
      enforceDistillableText: true,
      quantizations: ['fp8'],
      sort: 'latency',
      partition: 'none',
      maxPrice: {
        promptPerMillion: parseRate('1.5'),
        completionPerMillion: parseRate('2'),
        audioPerMillion: undefined,
        image: parseRate('0.01'),
        request: 0n,
      },
      preferredMinThroughput: { p50: 40 },
      preferredMaxLatency: { p50: 1, p90: 3 },
      options: { a: { b: 1 } },
    });
  });

  it.each([
    ['price', undefined, 'price', null],
    [{ by: 'price' }, 'fallback', 'price', null],
    [{ partition: 'model' }, 'sort', null, 'model'],
    [null, 'sort', null, 'none'],
    [undefined, null, null, null],
  ] as const)('reads the sort %j with the older route %j', (sort, route, by, partition) => {
    expect(readRoutingPreferences({ sort }, route)).toMatchObject({ sort: by, partition });
  });

  it('asks for nothing where nothing is said', () => {
    for (const value of Object.values(readRoutingPreferences(null))) expect(value ?? null).toBeNull();
  });

  it('takes a number for the decimal it is written as', () => {
    const limit = (prompt: number) => readRoutingPreferences({ max_price: { prompt } }).maxPrice?.promptPerMillion;
    expect([0.3, 1e-7, 1e9, 1.25e-17, 1e-30, 0].map(limit)).toEqual(
      ['0.3', '0.0000001', '1000000000', '0.000000000000000012', '0', '0'].map(parseRate),
    );
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10 ** 9 }), fc.integer({ min: 0, max: 6 }), (digits, decimals) => {
        const text = (digits / 10 ** decimals).toFixed(decimals);
        expect(limit(Number(text))).toBe(parseRate(text));
      }),
    );
  });
});
