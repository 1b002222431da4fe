import fc from 'fast-check';
import { RetryBudget } from './retry-budget';

describe(RetryBudget.name, () => {
  it('gives one retry in advance, then one for ten first attempts', () => {
    const budget = new RetryBudget();
    expect(budget.takeRetry('a')).toBe(true);
    expect(budget.takeRetry('a')).toBe(false);
    for (let i = 0; i < 9; i += 1) budget.firstAttempt('a');
    expect(budget.takeRetry('a')).toBe(false);
    budget.firstAttempt('a');
    expect(budget.takeRetry('a')).toBe(true);
    expect(budget.takeRetry('b')).toBe(true);
  });

  it('saves up ten and no more', () => {
    const budget = new RetryBudget();
    for (let i = 0; i < 10_000; i += 1) budget.firstAttempt('a');
    const retries = Array.from({ length: 50 }, () => budget.takeRetry('a')).filter(Boolean);
    expect(retries).toHaveLength(10);
  });

  it('never gives more than a tenth of the first attempts and the one in advance', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 2_000 }), (calls) => {
        const budget = new RetryBudget();
        let first = 0;
        let retries = 0;
        for (const isRetry of calls) {
          if (!isRetry) {
            budget.firstAttempt('a');
            first += 1;
          } else if (budget.takeRetry('a')) retries += 1;
          expect(retries).toBeLessThanOrEqual(1.05 + first / 10);
        }
      }),
    );
  });
});
