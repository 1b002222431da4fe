import { randomBytes, randomUUID } from 'node:crypto';
import type { GenerationOpening, GenerationSettlement } from '../generations/generation-records';
import { ageCharges, anOpening, aSettlement, atOnce, booksOfSpec, storeKey } from '../testing';
import type { KeyLimit } from './key-limit';

interface Key {
  readonly organizationId: string;
  readonly apiKeyHash: string;
}

const TEN: KeyLimit = { amountUsd: '10', reset: null, includesByok: false };

describe('the spending limit of a key', () => {
  const books = booksOfSpec();
  let key: Key;

  beforeEach(async () => {
    key = await newKey('1000');
  });

  async function newKey(creditsUsd: string): Promise<Key> {
    const organizationId = randomUUID();
    await books.ledger.topUp(organizationId, creditsUsd, randomUUID());
    const apiKeyHash = randomBytes(32).toString('hex');
    await storeKey(books.database, organizationId, apiKeyHash);
    return { organizationId, apiKeyHash };
  }

  function opening(holdUsd: string, keyLimit: KeyLimit | null = TEN, of: Key = key): GenerationOpening {
    return anOpening({ ...of, holdUsd, keyLimit });
  }

  function settlement(of: GenerationOpening, costUsd: string, upstreamCostUsd?: string): GenerationSettlement {
    return aSettlement(of, costUsd, { details: { attempts: [], upstreamCostUsd } });
  }

  /** Opens one call on its own. */
  async function refusalOf(call: GenerationOpening): Promise<string | null> {
    const [verdict] = await books.generations.open([call]);
    return verdict!.refusedBy;
  }

  async function spend(costUsd: string, keyLimit: KeyLimit | null = TEN, upstreamCostUsd?: string): Promise<void> {
    const call = opening(costUsd, keyLimit);
    expect(await refusalOf(call)).toBeNull();
    await books.generations.settle([settlement(call, costUsd, upstreamCostUsd)]);
  }

  async function left(limit: KeyLimit = TEN): Promise<string> {
    return (await books.ledger.leftOf(key, new Map([[key.apiKeyHash, limit]]))).get(key.apiKeyHash)!;
  }

  function holdRequest(amountUsd: string, keyLimit: KeyLimit | null) {
    return { ...key, id: randomUUID(), workspaceId: randomUUID(), keyLimit, amountUsd, lifetimeMs: 60_000 };
  }

  async function isHeld(amountUsd: string, keyLimit: KeyLimit | null): Promise<boolean> {
    return books.database
      .transaction((session) => books.ledger.openHold(session, holdRequest(amountUsd, keyLimit)))
      .then(
        () => true,
        () => false,
      );
  }

  /** As if the last charge of the key were so many days ago. */
  async function age(days: number): Promise<void> {
    await ageCharges(books.database, { column: 'api_key_hash', value: key.apiKeyHash }, days);
  }

  it('lets exactly as many of 400 concurrent calls through as it covers', async () => {
    const limit = { ...TEN, amountUsd: '100' };
    const refusals = await atOnce(400, () => refusalOf(opening('1', limit)));
    expect(refusals.filter((refusal) => refusal === null)).toHaveLength(100);
    expect(refusals.filter((refusal) => refusal === 'key_limit')).toHaveLength(300);
    expect(await books.ledger.accountOf(key.organizationId)).toMatchObject({ heldUsd: '100.000000000000' });
  });

  it('lets exactly as many of 400 concurrent calls through as the balance covers', async () => {
    key = await newKey('100');
    const refusals = await atOnce(400, () => refusalOf(opening('1', { ...TEN, amountUsd: '200' })));
    expect(refusals.filter((refusal) => refusal === null)).toHaveLength(100);
    expect(refusals.filter((refusal) => refusal === 'credits')).toHaveLength(300);
  });

  it('lets exactly as many of 400 concurrent batches through as it covers', async () => {
    const granted = await atOnce(400, () => isHeld('1', { ...TEN, amountUsd: '100' }));
    expect(granted.filter(Boolean)).toHaveLength(100);
  });

  it('holds when calls, batches and charges come at the same time', async () => {
    const limit = { ...TEN, amountUsd: '100' };
    let through = 0;
    const call = async (): Promise<void> => {
      const asked = opening('1', limit);
      if ((await refusalOf(asked)) !== null) return;
      through += 1;
      await books.generations.settle([settlement(asked, '1')]);
    };
    const batch = async (): Promise<void> => {
      if (await isHeld('1', limit)) through += 1;
    };
    await atOnce(300, (index) => (index % 3 === 0 ? batch() : call()));
    expect(through).toBe(100);
    expect(await left(limit)).toBe('0.000000000000');
  });

  it('is exact to the last digit', async () => {
    await spend('9.999999999999');
    expect(await refusalOf(opening('0.000000000002'))).toBe('key_limit');
    await spend('0.000000000001');
    expect(await left()).toBe('0.000000000000');
    expect(await refusalOf(opening('0.000000000001'))).toBe('key_limit');
    expect(await refusalOf(opening('0'))).toBeNull();
  });

  it('counts what is set aside, and no more once the call is settled or given up', async () => {
    const [first, second] = [opening('6'), opening('6')];
    expect(await refusalOf(first)).toBeNull();
    expect(await left()).toBe('4.000000000000');
    expect(await refusalOf(second)).toBe('key_limit');
    await books.generations.settle([settlement(first, '1')]);
    expect(await left()).toBe('9.000000000000');
    expect(await refusalOf(second)).toBeNull();
    await books.generations.abandon(await books.generations.findAbandoned(0, 1_000));
    expect(await left()).toBe('9.000000000000');
  });

  it('refuses the calls of one key and not those of another in the same group', async () => {
    const other = { ...key, apiKeyHash: randomBytes(32).toString('hex') };
    const calls = [opening('6'), opening('11', null, other), opening('5'), opening('12', null, other)];
    const verdicts = await books.generations.open(calls);
    expect(verdicts.map(({ refusedBy }) => refusedBy)).toEqual(['key_limit', null, 'key_limit', null]);
    expect(await left()).toBe('10.000000000000');
  });

  it('that changed a moment ago counts in its strictest form for all calls of a group', async () => {
    const verdicts = await books.generations.open([
      opening('3', null),
      opening('3', { ...TEN, amountUsd: '5' }),
      opening('3'),
    ]);
    expect(verdicts.map(({ refusedBy }) => refusedBy)).toEqual(['key_limit', 'key_limit', 'key_limit']);
  });

  it('sets nothing aside on a key whose organization cannot pay', async () => {
    key = await newKey('1');
    expect(await refusalOf(opening('2'))).toBe('credits');
    expect(await left()).toBe('10.000000000000');
  });

  const today = new Date();
  /** The periods, and how long ago they may have begun at most. */
  const PERIODS: readonly (readonly [KeyLimit['reset'], number])[] = [
    ['daily', 0],
    ['weekly', (today.getUTCDay() + 6) % 7],
    ['monthly', today.getUTCDate() - 1],
  ];

  it.each(PERIODS)(
    'that is %s counts from the first day of its period, and starts anew in the next',
    async (reset, days) => {
      const limit: KeyLimit = { ...TEN, reset };
      await spend('8', limit);
      await age(days);
      expect(await refusalOf(opening('3', limit))).toBe('key_limit');
      await age(1);
      expect(await left(limit)).toBe('10.000000000000');
      await spend('7', limit);
      expect(await left(limit)).toBe('3.000000000000');
      expect(await left()).toBe('0.000000000000');
    },
  );

  it('never starts anew where it has no period', async () => {
    await spend('8');
    await age(400);
    expect(await refusalOf(opening('3'))).toBe('key_limit');
  });

  it('may be set, changed and taken away while the key is in use', async () => {
    await spend('8', null);
    expect(await refusalOf(opening('3'))).toBe('key_limit');
    await spend('3', { ...TEN, amountUsd: '11' });
    await spend('5', null);
    expect(await left()).toBe('0.000000000000');
  });

  it('counts what own providers charge only where it is meant to', async () => {
    await spend('0.4', TEN, '8');
    expect(await left()).toBe('9.600000000000');
    const all = { ...TEN, includesByok: true };
    expect(await left(all)).toBe('1.600000000000');
    expect(await refusalOf(opening('2', all))).toBe('key_limit');
    expect(await refusalOf(opening('2'))).toBeNull();
    expect((await books.ledger.spendingOf(key, [key.apiKeyHash])).get(key.apiKeyHash)).toMatchObject({
      totalUsd: '0.400000000000',
      byokTotalUsd: '8.000000000000',
      byokDailyUsd: '8.000000000000',
      byokMonthlyUsd: '8.000000000000',
    });
  });

  it('has room again for what a batch set aside and did not need', async () => {
    const hold = holdRequest('9', TEN);
    await books.database.transaction((session) => books.ledger.openHold(session, hold));
    expect(await left()).toBe('1.000000000000');
    expect(await isHeld('2', TEN)).toBe(false);
    await books.database.transaction((session) => books.ledger.resolveHold(session, hold.id));
    expect(await left()).toBe('10.000000000000');
  });

  it('tells what is left after each call', async () => {
    expect(await books.generations.open([opening('4')])).toMatchObject([{ keyLeftUsd: '6.000000000000' }]);
    expect(await books.generations.open([opening('4')])).toMatchObject([{ keyLeftUsd: '2.000000000000' }]);
  });
});
