import fc from 'fast-check';
import { budgetOfEffort, effortOfBudget } from './reasoning-budget';

describe(budgetOfEffort.name, () => {
  it.each([
    ['none', 0],
    ['minimal', 100],
    ['low', 200],
    ['medium', 500],
    ['high', 800],
    ['xhigh', 950],
    ['max', 950],
  ] as const)('gives %s its part of the output', (effort, tokens) => {
    expect(budgetOfEffort(effort, 1_000)).toBe(tokens);
  });

  it('is undone by the effort of the budget', () => {
    const anyEffort = fc.constantFrom('none', 'minimal', 'low', 'medium', 'high', 'xhigh');
    fc.assert(
      fc.property(anyEffort, fc.integer({ min: 100, max: 1_000_000 }), (effort, tokens) => {
        expect(effortOfBudget(budgetOfEffort(effort, tokens), tokens)).toBe(effort);
      }),
    );
  });
});

describe(effortOfBudget.name, () => {
  it.each([
    [1, 'minimal'],
    [149, 'minimal'],
    [350, 'low'],
    [351, 'medium'],
    [5_000, 'xhigh'],
  ])('takes %d of 1000 tokens for %s', (tokens, effort) => {
    expect(effortOfBudget(tokens, 1_000)).toBe(effort);
  });
});
