import fc from 'fast-check';
import { byokCost, DEFAULT_BYOK_FEE, parsePercent, sumCosts } from './byok-fee';

describe(parsePercent.name, () => {
  it.each([
    ['5', DEFAULT_BYOK_FEE],
    ['0', 0n],
    ['100', 1_000_000n],
    ['2.5', 25_000n],
    ['0.0001', 1n],
    ['99.9999', 999_999n],
  ])('reads %s', (text, share) => {
    expect(parsePercent(text)).toBe(share);
  });

  it.each(['', '-1', '101', '100.1', '5%', '1e1', '.5', '5.', '05', '0.00001', ' 5', '5,5'])('refuses %p', (text) => {
    expect(() => parsePercent(text)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });
});

const anyCost = fc
  .tuple(fc.bigInt({ min: 0n, max: 10n ** 15n }), fc.bigInt({ min: 0n, max: 10n ** 15n }))
  .map(([promptCost, completionCost]) => ({ promptCost, completionCost, totalCost: promptCost + completionCost }));

describe(byokCost.name, () => {
  it('charges the share of the list price to half a pico-dollar, and tells what the provider charges', () => {
    fc.assert(
      fc.property(anyCost, fc.bigInt({ min: 0n, max: 1_000_000n }), (list, fee) => {
        const cost = byokCost(list, fee);
        const error = 2n * (cost.totalCost * 1_000_000n - list.totalCost * fee);
        expect(error > -1_000_000n && error <= 1_000_000n).toBe(true);
        expect(cost).toMatchObject({ ...list, totalCost: cost.totalCost, upstreamCost: list.totalCost });
      }),
    );
  });

  it('charges nothing for nothing, and everything where the share is the whole', () => {
    const list = { promptCost: 3n, completionCost: 4n, totalCost: 7n };
    expect(byokCost(list, 0n).totalCost).toBe(0n);
    expect(byokCost(list, 1_000_000n).totalCost).toBe(7n);
    expect(byokCost({ promptCost: 10n, completionCost: 0n, totalCost: 10n }, DEFAULT_BYOK_FEE).totalCost).toBe(1n);
  });
});

describe(sumCosts.name, () => {
  const list = { promptCost: 60n, completionCost: 40n, totalCost: 100n };

  it('knows nothing of providers where no key of a caller was used', () => {
    expect(sumCosts(list, list)).toEqual({ promptCost: 120n, completionCost: 80n, totalCost: 200n });
  });

  it('sums what providers charged where one was', () => {
    const own = byokCost(list, DEFAULT_BYOK_FEE);
    const sum = { promptCost: 120n, completionCost: 80n, totalCost: 105n, upstreamCost: 100n, byokFee: 5n };
    expect(sumCosts(list, own)).toEqual(sum);
    expect(sumCosts(own, list)).toEqual(sum);
    expect(sumCosts(own, own)).toMatchObject({ totalCost: 10n, upstreamCost: 200n, byokFee: 10n });
  });

  it('sums cache discounts, also when a BYOK fee is charged', () => {
    const cached = { ...list, cacheDiscount: 30n };
    const written = { ...list, cacheDiscount: -30n };
    expect(sumCosts(cached, list)).toMatchObject({ cacheDiscount: 30n });
    expect(sumCosts(cached, byokCost(cached, DEFAULT_BYOK_FEE))).toMatchObject({ cacheDiscount: 60n, totalCost: 105n });
    expect(sumCosts(cached, written)).toEqual(sumCosts(list, list));
  });
});
