import { tierNamed, tierWord } from './service-tiers';

describe(tierNamed.name, () => {
  it.each([
    ['standard', 'standard'],
    ['default', 'standard'],
    ['standard_only', 'standard'],
    ['on_demand', 'standard'],
    ['ON_DEMAND', 'standard'],
    ['priority', 'priority'],
    ['fast', 'priority'],
    ['ON_DEMAND_PRIORITY', 'priority'],
    ['flex', 'flex'],
    ['ON_DEMAND_FLEX', 'flex'],
    ['ultrafast', 'ultrafast'],
    ['auto', null],
    ['scale', null],
    ['batch', null],
    ['PROVISIONED_THROUGHPUT', null],
    ['constructor', null],
    ['', null],
  ])('knows %s as %s', (word, tier) => {
    expect(tierNamed(word)).toBe(tier);
  });
});

describe(tierWord.name, () => {
  it('calls the standard tier default, whatever its provider does, and leaves unknown words', () => {
    expect(['on_demand', 'standard', 'default', 'fast', 'flex', 'auto', 'Scale'].map(tierWord)).toEqual([
      'default',
      'default',
      'default',
      'priority',
      'flex',
      'auto',
      'Scale',
    ]);
  });
});
