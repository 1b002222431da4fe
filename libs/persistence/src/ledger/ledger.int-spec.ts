import { randomUUID } from 'node:crypto';
import type { GenerationOpening } from '../generations/generation-records';
import { anOpening, aSettlement, atOnce, booksOfSpec } from '../testing';
import { LedgerRepository } from './ledger.repository';

describe(LedgerRepository.name, () => {
  const books = booksOfSpec();

  function opening(organizationId: string, holdUsd: string): GenerationOpening {
    return anOpening({ organizationId, holdUsd });
  }

  async function isGranted(organizationId: string, amountUsd: string): Promise<boolean> {
    const hold = {
      id: randomUUID(),
      organizationId,
      workspaceId: randomUUID(),
      apiKeyHash: 'b'.repeat(64),
      keyLimit: null,
      amountUsd,
      lifetimeMs: 60_000,
    };
    return books.database
      .transaction((session) => books.ledger.openHold(session, hold))
      .then(
        () => true,
        (error: unknown) => {
          expect(error).toMatchObject({ code: 'payment_required' });
          return false;
        },
      );
  }

  it('counts a top-up with the same reference once', async () => {
    const organizationId = randomUUID();
    const reference = randomUUID();
    expect(await books.ledger.topUp(organizationId, '5', reference)).toBe(true);
    expect(await books.ledger.topUp(organizationId, '5', reference)).toBe(false);
    expect((await books.ledger.accountOf(organizationId)).balanceUsd).toBe('5.000000000000');
  });

  it('grants exactly as many concurrent holds as the balance covers', async () => {
    const organizationId = randomUUID();
    await books.ledger.topUp(organizationId, '100', randomUUID());
    const granted = await atOnce(400, () => isGranted(organizationId, '1'));
    expect(granted.filter(Boolean)).toHaveLength(100);
    expect((await books.ledger.accountOf(organizationId)).availableUsd).toBe('0.000000000000');
  });

  it('grants a hold of nothing to an organization that never bought credits', async () => {
    const organizationId = randomUUID();
    expect(await isGranted(organizationId, '0.000000000001')).toBe(false);
    expect(await isGranted(organizationId, '0')).toBe(true);
  });

  it('lets a hold be used for its lifetime by the clock of PostgreSQL', async () => {
    const hold = {
      id: randomUUID(),
      organizationId: randomUUID(),
      workspaceId: randomUUID(),
      apiKeyHash: 'b'.repeat(64),
      keyLimit: null,
      amountUsd: '0',
      lifetimeMs: 90_061_001,
    };
    const left = await books.database.transaction(async (session) => {
      await books.ledger.openHold(session, hold);
      return session.firstRow<{ ms: string }>({
        sql: 'SELECT (1000 * extract(epoch FROM expires_at - now()))::bigint::text AS ms FROM ledger_holds WHERE id = $1',
        values: [hold.id],
      });
    });
    expect(left).toEqual({ ms: '90061001' });
  });

  it('settles a call once, to the last digit, and gives its hold back', async () => {
    const organizationId = randomUUID();
    await books.ledger.topUp(organizationId, '1', randomUUID());
    const call = opening(organizationId, '0.25');
    expect(await books.generations.open([call])).toEqual([
      { refusedBy: null, availableUsd: '0.750000000000', keyLeftUsd: null, workspaceLeftUsd: null },
    ]);
    const settled = aSettlement(call, '0.000000000001');
    await books.generations.settle([settled]);
    await books.generations.settle([settled]);
    expect(await books.ledger.accountOf(organizationId)).toEqual({
      balanceUsd: '0.999999999999',
      heldUsd: '0.000000000000',
      availableUsd: '0.999999999999',
    });
  });

  it('gives the hold of a call back that was broken off before it cost anything', async () => {
    const organizationId = randomUUID();
    await books.ledger.topUp(organizationId, '1', randomUUID());
    const call = opening(organizationId, '0.25');
    await books.generations.open([call]);
    await books.generations.settle([{ ...aSettlement(call, '0'), statusCode: 499, outcome: 'cancelled' }]);
    expect(await books.ledger.accountOf(organizationId)).toMatchObject({
      heldUsd: '0.000000000000',
      availableUsd: '1.000000000000',
    });
  });

  it('settles a call whose answer came before it was opened', async () => {
    const organizationId = randomUUID();
    await books.ledger.topUp(organizationId, '1', randomUUID());
    await books.generations.settle([aSettlement(opening(organizationId, '0'), '0.5')]);
    expect((await books.ledger.accountOf(organizationId)).balanceUsd).toBe('0.500000000000');
  });

  it('opens nothing for an organization whose balance does not cover the group, and all for another', async () => {
    const [poor, rich] = [randomUUID(), randomUUID()];
    await books.ledger.topUp(poor, '1', randomUUID());
    await books.ledger.topUp(rich, '10', randomUUID());
    const calls = [opening(poor, '0.6'), opening(poor, '0.6'), opening(rich, '0.6')];
    const done = await books.generations.open(calls);
    expect(done.map(({ refusedBy }) => refusedBy)).toEqual(['credits', 'credits', null]);
    await books.generations.settle([aSettlement(calls[2]!, '0')]);
  });

  it('explains a balance below zero by the overage', async () => {
    const organizationId = randomUUID();
    await books.ledger.topUp(organizationId, '0.1', randomUUID());
    const call = opening(organizationId, '0.1');
    await books.generations.open([call]);
    await books.generations.settle([aSettlement(call, '0.15')]);
    const [row] = await books.database.rows<{ balance: string; overage: string }>({
      sql: 'SELECT balance_usd::text AS balance, overage_usd::text AS overage FROM ledger_accounts WHERE id = $1',
      values: [`org:${organizationId}`],
    });
    expect(row).toEqual({ balance: '-0.050000000000', overage: '0.050000000000' });
  });

  it('gives back the holds of calls that nobody settled', async () => {
    const organizationId = randomUUID();
    await books.ledger.topUp(organizationId, '1', randomUUID());
    const call = opening(organizationId, '0.4');
    await books.generations.open([call]);
    await books.generations.abandon(await books.generations.findAbandoned(0, 1_000));
    expect((await books.ledger.accountOf(organizationId)).availableUsd).toBe('1.000000000000');
    expect(await books.ledger.audit()).toEqual([]);

    await books.generations.settle([aSettlement(call, '0.1')]);
    expect((await books.ledger.accountOf(organizationId)).availableUsd).toBe('0.900000000000');
  });

  it('finds a cent that left the books', async () => {
    const organizationId = randomUUID();
    await books.ledger.topUp(organizationId, '1', randomUUID());
    const change = (by: string): Promise<number> =>
      books.database.execute({
        sql: 'UPDATE ledger_accounts SET balance_usd = balance_usd + $2::numeric WHERE id = $1',
        values: [`org:${organizationId}`, by],
      });
    await change('-0.01');
    expect(await books.ledger.audit()).toEqual([
      {
        kind: 'account',
        id: `org:${organizationId}`,
        figure: 'balance_usd',
        foundUsd: '0.990000000000',
        expectedUsd: '1.000000000000',
      },
    ]);
    await change('0.01');
  });
});
