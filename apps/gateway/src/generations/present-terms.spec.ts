import type { Principal } from '@libs/contracts';
import type { Opening } from './generation-ticket';
import { presentTermsOf } from './present-terms';

const opening = { id: 'gen-1', apiKeyHash: 'hash', keyLimit: null, budgets: undefined } as unknown as Opening;
const budgets = [{ amountUsd: '1', reset: 'daily', includesByok: false }] as const;
const principal = { limitUsd: '0.05', limitReset: null, includeByokInLimit: true, budgets } as unknown as Principal;

describe(presentTermsOf.name, () => {
  it('has the limit and the budgets that the directory knows now', async () => {
    const asked: string[] = [];
    const terms = presentTermsOf({ findRecord: (hash) => (asked.push(hash), principal) });
    const keyLimit = { amountUsd: '0.05', reset: null, includesByok: true };
    await expect(terms(opening)).resolves.toEqual({ ...opening, keyLimit, budgets });
    expect(asked).toEqual(['hash']);
  });

  it('refuses a key that can no longer be used', async () => {
    const terms = presentTermsOf({ findRecord: async () => null });
    await expect(terms(opening)).rejects.toMatchObject({ code: 'authentication' });
  });
});
