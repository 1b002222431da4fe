import type { KeyLimit } from '@libs/persistence';
import { CallerCredits, type Granted, type Payer } from './caller-credits';

const USD = 1_000_000_000_000n;
const FORTY: KeyLimit = { amountUsd: '40', reset: 'daily', includesByok: false };
const rich = { refusedBy: null, availableUsd: '1000' } as const;

function payer(keyLimit: KeyLimit | null, apiKeyHash = 'k'): Payer {
  return { organizationId: 'acme', workspaceId: 'w', apiKeyHash, keyLimit };
}

describe(CallerCredits.name, () => {
  let credits: CallerCredits;
  let nowMs: number;

  beforeEach(() => {
    nowMs = 0;
    credits = new CallerCredits(() => nowMs);
  });

  /** As if the ledger was asked and answered in the same moment. */
  const learn = (whose: Payer, verdict: Granted): void => credits.learn(whose, verdict, credits.beforeReading(whose));

  it('covers a call of a key without a limit by the credits of its organization alone', () => {
    learn(payer(null), { ...rich, keyLeftUsd: null });
    expect(credits.covers(payer(null, 'another'), USD)).toBe(true);
  });

  it('covers no call of a limited key before the books said what is left of the limit', () => {
    learn(payer(null), { ...rich, keyLeftUsd: null });
    expect(credits.covers(payer(FORTY), USD)).toBe(false);
    learn(payer(FORTY), { ...rich, keyLeftUsd: '40' });
    expect(credits.covers(payer(FORTY), USD)).toBe(true);
  });

  it('covers a call only while both the credits and the limit clearly do', () => {
    learn(payer(FORTY), { ...rich, keyLeftUsd: '19' });
    expect(credits.covers(payer(FORTY), USD)).toBe(false);
    learn(payer(FORTY), { ...rich, keyLeftUsd: '40', availableUsd: '19' });
    expect(credits.covers(payer(FORTY), USD)).toBe(false);
  });

  it('counts what has started and what was spent against the limit', () => {
    learn(payer(FORTY), { ...rich, keyLeftUsd: '40' });
    credits.started(payer(FORTY), USD);
    expect(credits.covers(payer(FORTY), USD)).toBe(true);
    credits.spent(payer(FORTY), 1n);
    expect(credits.covers(payer(FORTY), USD)).toBe(false);
  });

  it('counts what an own provider charged against limits and budgets that include it', () => {
    for (const includesByok of [false, true]) {
      const limit = { ...FORTY, includesByok };
      const limited = payer(limit);
      learn(limited, { ...rich, keyLeftUsd: '40' });
      credits.spent(limited, USD, 20n * USD);
      expect(credits.covers(limited, USD)).toBe(!includesByok);
      const budgeted = { ...payer(null), budgets: [limit] };
      learn(budgeted, { ...rich, keyLeftUsd: null, workspaceLeftUsd: '40' });
      credits.spent(budgeted, USD, 20n * USD);
      expect(credits.covers(budgeted, USD)).toBe(!includesByok);
    }
  });

  it('counts what has started however many other payers come in between', () => {
    const busy = { ...payer(null), organizationId: 'busy' };
    const twenty = { ...rich, availableUsd: '20', keyLeftUsd: null };
    learn(busy, twenty);
    credits.started(busy, USD);
    for (let index = 0; index <= 10_000; index += 1) {
      learn({ ...payer(null), organizationId: `other ${index}` }, { ...rich, keyLeftUsd: null });
    }
    learn(busy, twenty);
    expect(credits.covers(busy, USD / 2n)).toBe(false);
    credits.started(busy, -USD);
    expect(credits.covers(busy, USD)).toBe(true);
  });

  it('counts a charge that waits although nothing was known of its payer before', () => {
    const unknown = { ...payer(null), id: 'a' };
    credits.spentWithoutHold(unknown, 2n * USD, 0n);
    expect(credits.covers(unknown, 1n)).toBe(false);
    learn(unknown, { ...rich, availableUsd: '42', keyLeftUsd: null });
    expect(credits.covers(unknown, 1n)).toBe(false);
    credits.charged(unknown);
    learn(unknown, { ...rich, availableUsd: '40', keyLeftUsd: null });
    expect(credits.covers(unknown, 2n * USD)).toBe(true);
  });

  it('knows nothing of a limit that was changed, or of one that a hold was refused by', () => {
    learn(payer(FORTY), { ...rich, keyLeftUsd: '40' });
    expect(credits.covers(payer({ ...FORTY, amountUsd: '30' }), USD)).toBe(false);
    expect(credits.covers(payer({ ...FORTY, reset: null }), USD)).toBe(false);
    credits.forget(payer(FORTY));
    expect(credits.covers(payer(FORTY), USD)).toBe(false);
  });

  it('covers a call of a workspace with budgets only while they clearly do, whichever key makes it', () => {
    const inWorkspace = (budgets: Payer['budgets'], apiKeyHash?: string): Payer => ({
      ...payer(null, apiKeyHash),
      budgets,
    });
    learn(payer(null), { ...rich, keyLeftUsd: null });
    expect(credits.covers(inWorkspace([FORTY]), USD)).toBe(false);
    learn(inWorkspace([FORTY]), { ...rich, keyLeftUsd: null, workspaceLeftUsd: '40' });
    expect(credits.covers(inWorkspace([FORTY], 'another'), USD)).toBe(true);
    expect(credits.covers(inWorkspace([FORTY, { ...FORTY, reset: null }]), USD)).toBe(false);
    credits.started(inWorkspace([FORTY], 'another'), 21n * USD);
    expect(credits.covers(inWorkspace([FORTY]), USD)).toBe(false);
    expect(credits.covers(payer(null), USD)).toBe(true);
  });

  it('asks for the ledger every 100 ms while calls end that held nothing', () => {
    const limited = { ...payer(FORTY), budgets: [FORTY] };
    learn(limited, { ...rich, keyLeftUsd: '40', workspaceLeftUsd: '40' });
    nowMs = 5_000;
    expect(credits.takeReread(limited)).toBe(false);
    credits.spentWithoutHold({ ...limited, id: 'a' }, USD / 100n, 0n);
    const dueAt: number[] = [];
    for (; nowMs <= 5_250; nowMs += 10) if (credits.takeReread(limited)) dueAt.push(nowMs);
    expect(dueAt).toEqual([5_100, 5_200]);
    credits.charged({ id: 'a' });
    learn(limited, { ...rich, keyLeftUsd: '39', workspaceLeftUsd: '39' });
    nowMs += 1_000;
    expect(credits.takeReread(limited)).toBe(false);
  });

  it('lets calls together start with a twentieth of what is known, whether they end at once or not', () => {
    learn(payer(FORTY), { ...rich, keyLeftUsd: '40' });
    credits.started(payer(FORTY), USD);
    credits.spentWithoutHold({ ...payer(FORTY), id: 'a' }, USD / 2n, 0n);
    expect(credits.covers(payer(FORTY), USD / 2n)).toBe(false);
    expect(credits.covers(payer(FORTY), USD / 4n)).toBe(true);
  });
});
