import { randomBytes, randomUUID } from 'node:crypto';
import type { GenerationOpening } from '../generations/generation-records';
import { anOpening, aSettlement, openClockedBooks, storeKeyIn, type ClockedBooks } from '../testing';
import type { SpendingLimit } from './key-limit';

type Reset = SpendingLimit['reset'];

const MICRO = 1_000_000;
const RESETS: readonly Reset[] = ['daily', 'weekly', 'monthly', null];
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const usd = (micros: number): string => (micros / MICRO).toFixed(6);
const limitOf = (reset: Reset, micros: number): SpendingLimit => ({
  amountUsd: usd(micros),
  reset,
  includesByok: false,
});

/** Returns when the period of this time began, computed without PostgreSQL. */
function startOf(reset: Reset, ms: number): number {
  const at = new Date(ms);
  const day = Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate());
  switch (reset) {
    case 'daily':
      return day;
    case 'weekly':
      return day - ((at.getUTCDay() + 6) % 7) * DAY_MS;
    case 'monthly':
      return Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), 1);
    case null:
      return 0;
  }
}

/** What a limit leaves, by the list of all charges and open holds. */
class Oracle {
  readonly charges: { readonly ms: number; readonly micros: number }[] = [];
  readonly open = new Map<GenerationOpening, number>();

  left({ amountUsd, reset }: SpendingLimit, nowMs: number): number {
    const held = [...this.open.values()].reduce((sum, micros) => sum + micros, 0);
    const start = startOf(reset, nowMs);
    const spent = this.charges.reduce((sum, { ms, micros }) => (ms >= start ? sum + micros : sum), 0);
    return Math.round(Number(amountUsd) * MICRO) - held - spent;
  }
}

/** Numbers that are the same in each run: a linear congruential generator. */
function numbersFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

describe('the end of a period of a limit', () => {
  let books: ClockedBooks;
  let payer: { organizationId: string; workspaceId: string; apiKeyHash: string };

  beforeAll(async () => {
    books = await openClockedBooks();
  });

  afterAll(() => books.close());

  beforeEach(async () => {
    payer = {
      organizationId: randomUUID(),
      workspaceId: randomUUID(),
      apiKeyHash: randomBytes(32).toString('hex'),
    };
    await books.ledger.topUp(payer.organizationId, '1000', randomUUID());
    await storeKeyIn(books.database, payer, payer.apiKeyHash);
  });

  afterEach(async () => {
    expect(await books.ledger.audit()).toEqual([]);
  });

  const opening = (micros: number, keyLimit: SpendingLimit | null, budgets?: SpendingLimit[]): GenerationOpening =>
    anOpening({ ...payer, holdUsd: usd(micros), keyLimit, budgets });

  const refusalOf = async (call: GenerationOpening): Promise<string | null> =>
    (await books.generations.open([call]))[0]!.refusedBy;

  const settle = async (call: GenerationOpening, micros: number): Promise<void> => {
    await books.generations.settle([aSettlement(call, usd(micros))]);
  };

  const leftOf = async (limit: SpendingLimit): Promise<number> => {
    const left = await books.ledger.leftOf(payer, new Map([[payer.apiKeyHash, limit]]));
    return Math.round(Number(left.get(payer.apiKeyHash)) * MICRO);
  };

  it.each([
    ['daily', '2027-03-01T00:00:00Z'],
    ['daily', '2028-03-01T00:00:00Z'],
    ['daily', '2027-10-31T00:00:00Z'],
    ['weekly', '2027-01-04T00:00:00Z'],
    ['weekly', '2029-01-01T00:00:00Z'],
    ['monthly', '2028-03-01T00:00:00Z'],
    ['monthly', '2027-01-01T00:00:00Z'],
    ['monthly', '2027-12-01T00:00:00Z'],
  ] as const)(
    'that is %s is midnight in UTC before %s, and a call across it counts after it',
    async (reset, midnight) => {
      const [limit, end] = [limitOf(reset, 10 * MICRO), Date.parse(midnight)];
      await books.setTime(new Date(end - 1));
      const spent = opening(6 * MICRO, limit);
      const across = opening(3 * MICRO, limit);
      expect([await refusalOf(spent), await refusalOf(across)]).toEqual([null, null]);
      await settle(spent, 6 * MICRO);
      expect([await leftOf(limit), await refusalOf(opening(1_000_001, limit))]).toEqual([MICRO, 'key_limit']);
      await books.setTime(new Date(end));
      // The hold of the call that still runs counts in the new period too.
      expect([await leftOf(limit), await refusalOf(opening(7_000_001, limit))]).toEqual([7 * MICRO, 'key_limit']);
      await settle(across, 4 * MICRO);
      expect(await leftOf(limit)).toBe(6 * MICRO);
      expect([await refusalOf(opening(6_000_001, limit)), await refusalOf(opening(6 * MICRO, limit))]).toEqual([
        'key_limit',
        null,
      ]);
    },
  );

  it.each([1, 2, 3])('is the same for 400 random steps over months as in a list of all charges (%d)', async (seed) => {
    const below = numbersFrom(seed);
    const oracle = new Oracle();
    const budgets = [limitOf('daily', 12 * MICRO), limitOf('weekly', 30 * MICRO), limitOf('monthly', 60 * MICRO)];
    let nowMs = Date.parse('2027-12-20T12:00:00Z');
    const seen: Record<string, number> = {};

    const pass = async (): Promise<void> => {
      const midnight = startOf('daily', nowMs) + DAY_MS;
      const times = [nowMs + below(6) * HOUR_MS, midnight - 1, midnight, midnight + below(5) * DAY_MS];
      nowMs = Math.max(nowMs, times[below(times.length)]!);
      await books.setTime(new Date(nowMs));
    };
    const open = async (): Promise<void> => {
      const [micros, limit] = [1 + below(5 * MICRO), limitOf(RESETS[below(4)]!, (10 + below(300)) * MICRO)];
      const isWithin = (one: SpendingLimit): boolean => micros <= oracle.left(one, nowMs);
      const expected = !isWithin(limit) ? 'key_limit' : budgets.every(isWithin) ? null : 'budget';
      const call = opening(micros, limit, budgets);
      const refusedBy = await refusalOf(call);
      expect({ nowMs, refusedBy }).toEqual({ nowMs, refusedBy: expected });
      seen[String(refusedBy)] = (seen[String(refusedBy)] ?? 0) + 1;
      if (refusedBy === null) oracle.open.set(call, micros);
    };
    const end = async (): Promise<void> => {
      const call = [...oracle.open.keys()][below(oracle.open.size)];
      if (call === undefined) return;
      const held = oracle.open.get(call)!;
      oracle.open.delete(call);
      if (below(5) === 0) {
        expect(await books.generations.abandon([call])).toBe(1);
        return;
      }
      const micros = below(2 * held);
      oracle.charges.push({ ms: nowMs, micros });
      await settle(call, micros);
    };

    const steps = [pass, open, open, end];
    for (let step = 0; step < 400; step += 1) {
      await steps[below(steps.length)]!();
      const limit = limitOf(RESETS[below(4)]!, 200 * MICRO);
      expect({ step, left: await leftOf(limit) }).toEqual({ step, left: Math.max(0, oracle.left(limit, nowMs)) });
    }
    expect(Object.keys(seen).sort()).toEqual(['budget', 'key_limit', 'null']);
    expect(startOf('monthly', nowMs)).toBeGreaterThan(Date.parse('2028-01-01T00:00:00Z') - 1);
  });

  it('counts a charge that waited past midnight once, in the later period', async () => {
    const [limit, midnight] = [limitOf('daily', 10 * MICRO), Date.parse('2028-03-01T00:00:00Z')];
    await books.setTime(new Date(midnight - 1));
    const [slow, quick] = [opening(MICRO, limit), opening(2 * MICRO, limit)];
    expect([await refusalOf(slow), await refusalOf(quick)]).toEqual([null, null]);
    const settled = await books.database.transaction(async (session) => {
      await session.execute({ sql: 'SELECT FROM generations WHERE id = $1 FOR UPDATE', values: [slow.id] });
      const waiting = settle(slow, MICRO);
      while ((await waitingStatements()) === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      await books.setTime(new Date(midnight));
      await settle(quick, 2 * MICRO);
      return { waiting };
    });
    await settled.waiting;
    expect(await leftOf(limit)).toBe(7 * MICRO);
  });

  async function waitingStatements(): Promise<number> {
    const row = await books.database.firstRow<{ count: number }>({
      sql: `SELECT count(*)::integer AS count FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    });
    return row!.count;
  }
});
