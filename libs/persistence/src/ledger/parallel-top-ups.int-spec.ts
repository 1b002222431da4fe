import { randomBytes, randomUUID } from 'node:crypto';
import { anOpening, aSettlement, atOnce, booksOfSpec, storeKey } from '../testing';

const CALLS = 300;
const TOP_UPS = 100;

describe('credits that are added while calls are charged', () => {
  const books = booksOfSpec();

  it('are spent to the last cent and never beyond, by calls that are settled twice', async () => {
    const [organizationId, apiKeyHash] = [randomUUID(), randomBytes(32).toString('hex')];
    await storeKey(books.database, organizationId, apiKeyHash);
    const counts = { charged: 0, refused: 0, added: 0 };

    const addCent = async (number: number): Promise<void> => {
      // Two tries of one top-up, at once.
      const reference = `${organizationId} ${number}`;
      const tries = [1, 2].map(() => books.ledger.topUp(organizationId, '0.01', reference));
      const added = await Promise.all(tries);
      counts.added += added.filter(Boolean).length;
    };

    const spendCent = async (number: number): Promise<void> => {
      const call = anOpening({ organizationId, apiKeyHash, holdUsd: '0.01' });
      const [verdict] = await books.generations.open([call]);
      if (verdict!.refusedBy !== null) {
        expect(verdict!.refusedBy).toBe('credits');
        counts.refused += 1;
        return;
      }
      const steps = [
        () => books.generations.settle([aSettlement(call, '0.01')]),
        () => books.generations.settle([aSettlement(call, '0.01')]),
        ...(number % 3 === 0 ? [() => books.generations.extend(call, '0.01')] : []),
      ];
      await Promise.all(steps.map((step) => step()));
      expect(await books.generations.abandon([call])).toBe(0);
      counts.charged += 1;
    };

    await atOnce(CALLS + TOP_UPS, (index) => (index % 4 === 0 ? addCent(index) : spendCent(index)));
    while (counts.charged < TOP_UPS) await spendCent(1);
    const after = anOpening({ organizationId, apiKeyHash, holdUsd: '0.000000000001' });
    expect((await books.generations.open([after]))[0]!.refusedBy).toBe('credits');

    expect(counts).toMatchObject({ charged: TOP_UPS, added: TOP_UPS });
    expect(counts.refused).toBeGreaterThan(0);
    expect(await books.ledger.accountOf(organizationId)).toEqual({
      balanceUsd: '0.000000000000',
      heldUsd: '0.000000000000',
      availableUsd: '0.000000000000',
    });
    expect(await books.ledger.creditsOf(organizationId)).toMatchObject({ totalUsageUsd: '1.000000000000' });
  });

  it('are charged once for a call that was given up and is settled late, however often', async () => {
    const [organizationId, apiKeyHash] = [randomUUID(), randomBytes(32).toString('hex')];
    await storeKey(books.database, organizationId, apiKeyHash);
    await books.ledger.topUp(organizationId, '1', randomUUID());
    await atOnce(50, async () => {
      const call = anOpening({ organizationId, apiKeyHash, holdUsd: '0.01' });
      await books.generations.open([call]);
      const settle = () => books.generations.settle([aSettlement(call, '0.02')]);
      await Promise.all([books.generations.abandon([call]), settle(), settle(), books.generations.abandon([call])]);
    });
    expect(await books.ledger.accountOf(organizationId)).toMatchObject({ balanceUsd: '0.000000000000' });
    expect(await books.ledger.accountOf(organizationId)).toMatchObject({ heldUsd: '0.000000000000' });
  });
});
