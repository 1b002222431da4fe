import { usdFromNumber } from './usd-amount';

describe(usdFromNumber.name, () => {
  it.each([
    [0, '0'],
    [10, '10'],
    [0.1, '0.1'],
    [1_000_000.1, '1000000.1'],
    [1e-6, '0.000001'],
    [2.5e-7, '0.00000025'],
    [1e-12, '0.000000000001'],
    [1_000_000_000, '1000000000'],
  ])('writes %d as %s', (amountUsd, text) => {
    expect(usdFromNumber(amountUsd)).toBe(text);
  });

  it.each([-1, -0, -1e-12, 1e-13, 1.5e-12, 1_000_000_000.01, 1e21, Number.NaN, Number.POSITIVE_INFINITY])(
    'refuses %d',
    (amountUsd) => {
      expect(usdFromNumber(amountUsd)).toBeNull();
    },
  );
});
