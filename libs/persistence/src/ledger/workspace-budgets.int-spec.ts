import { randomBytes, randomUUID } from 'node:crypto';
import type { GenerationOpening, GenerationSettlement } from '../generations/generation-records';
import { ageCharges, anOpening, aSettlement, atOnce, booksOfSpec, storeKeyIn, storeVideo } from '../testing';
import type { SpendingLimit } from './key-limit';

interface Payer {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly apiKeyHash: string;
}

const HUNDRED: SpendingLimit = { amountUsd: '100', reset: null, includesByok: false };
const TEN: SpendingLimit = { ...HUNDRED, amountUsd: '10' };

describe('the budgets of a workspace', () => {
  const books = booksOfSpec();
  let payer: Payer;

  beforeEach(async () => {
    payer = await newPayer();
  });

  async function newPayer(creditsUsd = '1000'): Promise<Payer> {
    const organizationId = randomUUID();
    await books.ledger.topUp(organizationId, creditsUsd, randomUUID());
    return anotherKey({ organizationId, workspaceId: randomUUID() });
  }

  async function anotherKey(of: Pick<Payer, 'organizationId' | 'workspaceId'>): Promise<Payer> {
    const apiKeyHash = randomBytes(32).toString('hex');
    await storeKeyIn(books.database, of, apiKeyHash);
    return { organizationId: of.organizationId, workspaceId: of.workspaceId, apiKeyHash };
  }

  function opening(holdUsd: string, budgets: SpendingLimit[] | undefined = [TEN], of = payer): GenerationOpening {
    return anOpening({ ...of, holdUsd, budgets });
  }

  function settlement(of: GenerationOpening, costUsd: string, upstreamCostUsd?: string): GenerationSettlement {
    return aSettlement(of, costUsd, { details: { attempts: [], upstreamCostUsd } });
  }

  async function refusalOf(call: GenerationOpening): Promise<string | null> {
    return (await books.generations.open([call]))[0]!.refusedBy;
  }

  /** Spends an amount with a call, which has no budgets unless `of` has some. */
  async function spend(costUsd: string, of = payer, upstreamCostUsd?: string): Promise<void> {
    const call = anOpening({ ...of, holdUsd: costUsd });
    expect(await refusalOf(call)).toBeNull();
    await books.generations.settle([settlement(call, costUsd, upstreamCostUsd)]);
  }

  function isHeld(amountUsd: string, budgets: SpendingLimit[] | undefined, of = payer): Promise<boolean> {
    const hold = { ...of, id: randomUUID(), keyLimit: null, amountUsd, budgets, lifetimeMs: 60_000 };
    return books.database
      .transaction((session) => books.ledger.openHold(session, hold))
      .then(
        () => true,
        (error: { code?: string }) => {
          expect(error.code).toBe('payment_required');
          return false;
        },
      );
  }

  async function rowOf({ workspaceId }: Payer): Promise<{ held: string; total: string } | null> {
    return books.database.firstRow({
      sql: `SELECT held_usd::float8::text AS held, total_usd::float8::text AS total FROM ledger_workspaces WHERE workspace_id = $1`,
      values: [workspaceId],
    });
  }

  it('let exactly as many of 400 concurrent calls through as they cover, whichever keys make them', async () => {
    const keys = [payer, ...(await atOnce(7, () => anotherKey(payer)))];
    const refusals = await atOnce(400, (index) => refusalOf(opening('1', [HUNDRED], keys[index % keys.length])));
    expect(refusals.filter((refusal) => refusal === null)).toHaveLength(100);
    expect(refusals.filter((refusal) => refusal === 'budget')).toHaveLength(300);
    expect(await books.ledger.accountOf(payer.organizationId)).toMatchObject({ heldUsd: '100.000000000000' });
  });

  it('hold from their first moment on, while calls, batches and charges come at the same time', async () => {
    const keys = [payer, ...(await atOnce(4, () => anotherKey(payer)))];
    let through = 0;
    await atOnce(400, async (index) => {
      const of = keys[index % keys.length]!;
      // The first calls know nothing of a budget yet; what they do counts for those that come after.
      const budgets = index < 40 ? undefined : [HUNDRED];
      if (index % 4 === 3) {
        if (await isHeld('1', budgets, of)) through += 1;
        return;
      }
      const call = anOpening({ ...of, holdUsd: '1', budgets });
      if ((await refusalOf(call)) !== null) return;
      through += 1;
      await books.generations.settle([settlement(call, '1')]);
    });
    expect(through).toBe(100);
  });

  it('count what was spent and set aside before there were any', async () => {
    const other = await anotherKey(payer);
    await spend('3');
    await spend('2', other);
    const running = anOpening({ ...payer, holdUsd: '4' });
    await books.generations.open([running]);
    expect(await rowOf(payer)).toBeNull();
    expect(await refusalOf(opening('2'))).toBe('budget');
    expect(await rowOf(payer)).toEqual({ held: '4', total: '5' });
    await books.generations.settle([settlement(running, '1')]);
    expect(await refusalOf(opening('4'))).toBeNull();
    expect(await refusalOf(opening('1'))).toBe('budget');
  });

  it('are judged each by its own period, and the tightest decides', async () => {
    const daily: SpendingLimit = { ...HUNDRED, amountUsd: '5', reset: 'daily' };
    const lifetime: SpendingLimit = { ...HUNDRED, amountUsd: '8' };
    expect(await refusalOf(opening('4', [lifetime, daily]))).toBeNull();
    await books.generations.abandon(await books.generations.findAbandoned(0, 1_000));
    await spend('4');
    expect(await refusalOf(opening('2', [lifetime, daily]))).toBe('budget');
    await ageCharges(books.database, { column: 'workspace_id', value: payer.workspaceId }, 1);
    const next = opening('4', [lifetime, daily]);
    expect(await books.generations.open([next])).toMatchObject([
      { refusedBy: null, workspaceLeftUsd: '0.000000000000' },
    ]);
    expect(await refusalOf(opening('0.000000000001', [lifetime, daily]))).toBe('budget');
    expect(await refusalOf(opening('1', [{ ...daily, amountUsd: '9' }]))).toBeNull();
  });

  it('bind one workspace and none of its neighbours', async () => {
    const neighbour = await anotherKey({ ...payer, workspaceId: randomUUID() });
    const calls = [opening('6'), opening('5'), anOpening({ ...neighbour, holdUsd: '50' })];
    const verdicts = await books.generations.open(calls);
    expect(verdicts.map(({ refusedBy }) => refusedBy)).toEqual(['budget', 'budget', null]);
    expect(await rowOf(payer)).toEqual({ held: '0', total: '0' });
    expect(await rowOf(neighbour)).toEqual({ held: '50', total: '0' });
  });

  it('are told from the limit of a key and from the credits', async () => {
    const keyLimit = { ...TEN, amountUsd: '1' };
    expect(await refusalOf({ ...opening('2'), keyLimit })).toBe('key_limit');
    payer = await newPayer('1');
    expect(await refusalOf(opening('2'))).toBe('credits');
    expect(await rowOf(payer)).toEqual({ held: '0', total: '0' });
    expect(await isHeld('2', [TEN])).toBe(false);
  });

  it('bind an organization that never had credits, once it has some', async () => {
    payer = await anotherKey({ organizationId: randomUUID(), workspaceId: randomUUID() });
    expect(await refusalOf(opening('1'))).toBe('credits');
    await books.ledger.topUp(payer.organizationId, '100', randomUUID());
    await spend('9');
    expect(await refusalOf(opening('2'))).toBe('budget');
  });

  it('count what own providers charge only where they are meant to', async () => {
    await spend('0.5', payer, '9');
    expect(await refusalOf(opening('2', [{ ...TEN, includesByok: true }]))).toBe('budget');
    expect(await refusalOf(opening('2'))).toBeNull();
  });

  it('have room again for what a batch set aside and did not need, and for calls that were given up', async () => {
    const hold = { ...payer, id: randomUUID(), keyLimit: null, amountUsd: '9', budgets: [TEN], lifetimeMs: 60_000 };
    await books.database.transaction((session) => books.ledger.openHold(session, hold));
    expect(await isHeld('2', [TEN])).toBe(false);
    await books.database.transaction((session) => books.ledger.resolveHold(session, hold.id));
    expect(await refusalOf(opening('10'))).toBeNull();
    expect(await refusalOf(opening('1'))).toBe('budget');
    await books.generations.abandon(await books.generations.findAbandoned(0, 1_000));
    expect(await rowOf(payer)).toEqual({ held: '0', total: '0' });
  });

  it('are asked when a video is taken in', async () => {
    await expect(storeVideo(books.database, { ...payer, priceUsd: '11', budgets: [TEN] })).rejects.toMatchObject({
      code: 'payment_required',
    });
    await storeVideo(books.database, { ...payer, priceUsd: '9', budgets: [TEN] });
    expect(await rowOf(payer)).toEqual({ held: '9', total: '0' });
  });

  it('cost an organization without any no row at all', async () => {
    await spend('1');
    expect(await isHeld('1', undefined)).toBe(true);
    expect(await rowOf(payer)).toBeNull();
  });
});
