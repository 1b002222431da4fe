import { randomUUID } from 'node:crypto';
import { aLineOutcome, openTestDatabase, startBatch, type OpenTestDatabase, type StoredBatch } from '../testing';
import { BatchResultsRepository, type LineOutcome } from './batch-results.repository';
import {
  BatchSegmentsRepository,
  type ClaimedSegment,
  type KeptOut,
  type TimedLease,
} from './batch-segments.repository';
import { ALONE_FROM, CALLED_ALONE, CLAIM_SQL, ONE_AT_A_TIME_FROM, rankedAtMost } from './segment-claims';

const LEASE_MS = 30_000;
const HOUR_MS = 3_600_000;

describe(BatchSegmentsRepository.name, () => {
  let opened: OpenTestDatabase;
  let segments: BatchSegmentsRepository;

  beforeAll(async () => {
    opened = await openTestDatabase();
    segments = new BatchSegmentsRepository(opened.database);
  });

  afterAll(() => opened.close());

  beforeEach(() => opened.database.execute({ sql: 'TRUNCATE batches, batch_segments' }));

  /** In segments of four lines, of a workspace of its own. */
  const started = (lines: number): Promise<StoredBatch> => startBatch(opened.database, lines);

  const set = (batch: StoredBatch, values: string): Promise<number> =>
    opened.database.execute({ sql: `UPDATE batches SET ${values} WHERE id = $1`, values: [batch.id] });

  const claimed = async (limit: number, mostLines?: number): Promise<[bigint, number][]> =>
    (await segments.claim(limit, LEASE_MS, { mostLines })).map(({ batchNumber, number }) => [batchNumber, number]);

  it('takes many small segments at a time, and few of those that others follow', async () => {
    for (let count = 0; count < 20; count += 1) await started(1);
    expect(await claimed(64, 12)).toHaveLength(12);
    expect(await claimed(64, 12)).toHaveLength(8);
    const { number } = await started(40);
    // Whatever such a segment has in lines, it was closed because it was full.
    expect(await claimed(64, 512)).toEqual([0, 1, 2, 3].map((segment) => [number, segment]));
    expect(await claimed(64, 1)).toEqual([[number, 4]]);
  });

  it('leaves to the next what it does not take', async () => {
    const { number } = await started(12);
    const claims = await Promise.all([claimed(8, 1), claimed(8, 1), claimed(8, 1)]);
    const all = [...claims.flat(), ...(await claimed(8))].map(([, segment]) => segment);
    expect(all.toSorted((one, other) => one - other)).toEqual([0, 1, 2]);
    expect(await claimed(8)).toEqual([]);
    await opened.database.execute({ sql: 'UPDATE batch_segments SET available_at = now()' });
    expect((await claimed(8)).map(([batch]) => batch)).toEqual([number, number, number]);
  });

  it('takes in turn from each workspace, and first of the batch that must end first', async () => {
    const [one, other] = [await started(12), await started(8)];
    expect(await claimed(2)).toEqual([
      [one.number, 0],
      [other.number, 0],
    ]);
    expect(await claimed(2)).toEqual([
      [one.number, 1],
      [other.number, 1],
    ]);
    await opened.database.execute({
      sql: 'UPDATE batches SET workspace_id = $1',
      values: [one.owner.workspaceId],
    });
    await opened.database.execute({ sql: 'UPDATE batch_segments SET available_at = now()' });
    await opened.database.execute({
      sql: `UPDATE batches SET expires_at = now() + interval '1 hour' WHERE id = $1`,
      values: [other.id],
    });
    expect(await claimed(2)).toEqual([
      [other.number, 0],
      [other.number, 1],
    ]);
  });

  it('takes something of each of many workspaces at once, and then the rest of the one with the most', async () => {
    const small: StoredBatch[] = [];
    for (let count = 0; count < 20; count += 1) small.push(await started(1));
    const [first, ...rest] = await Promise.all(Array.from({ length: 40 }, () => started(1)));
    await opened.database.execute({
      sql: 'UPDATE batches SET workspace_id = $1 WHERE id = ANY($2::text[])',
      values: [first!.owner.workspaceId, rest.map(({ id }) => id)],
    });
    const numbers = async (): Promise<bigint[]> => (await claimed(64)).map(([number]) => number);
    const atOnce = await numbers();
    expect(atOnce).toEqual(expect.arrayContaining(small.map(({ number }) => number)));
    expect(atOnce.length).toBeGreaterThan(30);
    const all = [...atOnce, ...(await numbers()), ...(await numbers())];
    expect(new Set(all).size).toBe(60);
    expect(all).toHaveLength(60);
  });

  it('takes nothing of a model of an account that is named: the operator’s, or one of a key of a caller', async () => {
    const [shared, own, another] = [await started(4), await started(4), await started(4)];
    const keys = [randomUUID(), randomUUID()];
    for (const [index, { id }] of [own, another].entries()) {
      await opened.database.execute({
        sql: 'UPDATE batches SET credential_id = $2, own_keys_only = $3 WHERE id = $1',
        values: [id, keys[index]!, id === own.id],
      });
    }
    const batchesBut = async (...accounts: string[]): Promise<bigint[]> => {
      const models = accounts.map((account) => ({ account, upstreamModel: 'model' }));
      const claims = await segments.claim(8, LEASE_MS, { keptOut: { models, apiKeyHashes: [] } });
      await segments.release(claims);
      return claims.map(({ batchNumber }) => batchNumber);
    };
    expect(await batchesBut('vendor')).toEqual([own.number, another.number]);
    expect(await batchesBut(`vendor:${keys[0]}`)).toEqual([shared.number, another.number]);
    expect(await batchesBut('another', ...keys.map((key) => `vendor:${key}`))).toEqual([shared.number]);
    expect(await segments.claim(8, LEASE_MS)).toMatchObject([
      { batchNumber: shared.number, account: 'vendor', isOwnKey: false, isOwnKeysOnly: false },
      { batchNumber: own.number, account: `vendor:${keys[0]}`, isOwnKey: true, isOwnKeysOnly: true },
      { batchNumber: another.number, account: `vendor:${keys[1]}`, isOwnKey: true, isOwnKeysOnly: false },
    ]);
  });

  it('keeps one model of an account out and takes the others, and keeps the batches of one API key out', async () => {
    const [one, other] = [await started(4), await started(4)];
    await set(other, `upstream_model = 'other', api_key_hash = repeat('b', 64)`);
    const claimedBut = async (keptOut: KeptOut): Promise<bigint[]> => {
      const claims = await segments.claim(8, LEASE_MS, { keptOut });
      await segments.release(claims);
      return claims.map(({ batchNumber }) => batchNumber);
    };
    const models = [{ account: 'vendor', upstreamModel: 'model' }];
    expect(await claimedBut({ models, apiKeyHashes: [] })).toEqual([other.number]);
    expect(await claimedBut({ models: [], apiKeyHashes: ['b'.repeat(64)] })).toEqual([one.number]);
    expect(await claimedBut({ models, apiKeyHashes: ['b'.repeat(64)] })).toEqual([]);
  });

  it('leaves out segments that are kept out, and takes the others of their batch', async () => {
    await started(40);
    const all = await segments.claim(64, LEASE_MS);
    await segments.release(all);
    const [failed, ...others] = all;
    const keptOut = { models: [], apiKeyHashes: [], segments: [failed!] };
    const claims = await segments.claim(64, LEASE_MS, { keptOut });
    expect(claims.map(({ number }) => number)).toEqual(others.map(({ number }) => number));
    expect(others.length).toBeGreaterThan(0);
  });

  it('say at each lease and renewal how much of the window PostgreSQL has left, whatever the time is here', async () => {
    const batch = await started(4);
    const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 25 * HOUR_MS);
    const leave = (hours: number): Promise<number> => set(batch, `expires_at = now() + interval '${hours} hours'`);
    const leftOf = ([lease]: readonly TimedLease[]): number => (lease!.windowEndsAtMs - performance.now()) / HOUR_MS;
    await leave(5);
    const claims = await segments.claim(8, LEASE_MS);
    expect(leftOf(claims)).toBeCloseTo(5, 1);
    await leave(3);
    expect(leftOf(await segments.renew(claims, LEASE_MS))).toBeCloseTo(3, 1);
    await opened.database.execute({ sql: `UPDATE batch_segments SET state = 'suspect'` });
    expect(leftOf([(await segments.claimSuspect(LEASE_MS))!])).toBeCloseTo(3, 1);
    clock.mockRestore();
  });

  describe('deaths of workers', () => {
    /** As if the worker that holds the segments had died. */
    const die = (): Promise<number> =>
      opened.database.execute({ sql: `UPDATE batch_segments SET available_at = now() WHERE state = 'open'` });
    const attempts = async (): Promise<number[]> =>
      (
        await opened.database.rows<{ attempts: number }>({ sql: 'SELECT attempts FROM batch_segments ORDER BY number' })
      ).map((row) => row.attempts);
    const outcomeOf = (lease: ClaimedSegment, seq: number): LineOutcome => aLineOutcome(lease, seq);

    it('are forgotten with a stored result', async () => {
      await started(4);
      const results = new BatchResultsRepository(opened.database);
      await segments.claim(8, LEASE_MS);
      await die();
      const [lease] = await segments.claim(8, LEASE_MS);
      expect(lease!.attempts).toBe(2);
      await results.store([outcomeOf(lease!, 0)]);
      expect(await attempts()).toEqual([0]);
      await die();
      expect((await segments.claim(8, LEASE_MS))[0]!.attempts).toBe(1);
    });

    it('are not forgotten so far that a segment runs more than one line at a time at once again', async () => {
      await started(4);
      for (let death = 0; death < ONE_AT_A_TIME_FROM - 1; death += 1) {
        await segments.claim(8, LEASE_MS);
        await die();
      }
      const [lease] = await segments.claim(8, LEASE_MS);
      await new BatchResultsRepository(opened.database).store([outcomeOf(lease!, 0)]);
      await die();
      expect((await segments.claim(8, LEASE_MS))[0]!.attempts).toBe(ONE_AT_A_TIME_FROM);
    });

    it('are not counted for a worker that outlived its leases, also where another has them by now', async () => {
      await started(8);
      const lost = await segments.claim(8, LEASE_MS);
      await die();
      await segments.claim(1, LEASE_MS);
      await segments.outlived(lost);
      expect(await attempts()).toEqual([1, 1]);
      const [, other] = lost;
      expect(await segments.renew([other!], LEASE_MS)).toHaveLength(1);
    });

    it('leave a segment to one worker at a time that has nothing else to do, and keep no other from its lease', async () => {
      await started(12);
      for (let death = 1; death < ALONE_FROM; death += 1) {
        expect(await segments.claim(8, LEASE_MS)).toHaveLength(3);
        await die();
        expect(await segments.hasSuspects()).toBe(false);
      }
      const innocent = await started(4);
      expect((await segments.claim(8, LEASE_MS)).map(({ batchNumber }) => batchNumber)).toEqual([innocent.number]);
      expect(await segments.hasSuspects()).toBe(true);
      expect(await segments.claim(8, LEASE_MS)).toEqual([]);
      const [first, second, third, none] = await Promise.all(
        Array.from({ length: 4 }, () => segments.claimSuspect(LEASE_MS)),
      );
      const suspects = [first, second, third, none].filter((one) => one !== null && one !== undefined);
      expect(suspects.map((one) => one.attempts)).toEqual([ALONE_FROM, ALONE_FROM, ALONE_FROM]);
      expect(new Set(suspects.map((one) => one.number)).size).toBe(3);
      expect(await segments.hasSuspects()).toBe(false);
      await segments.absolve(suspects[0]!);
      await die();
      const again = await segments.claim(8, LEASE_MS);
      expect(again.map((one) => [one.number, one.attempts])).toEqual([
        [suspects[0]!.number, ONE_AT_A_TIME_FROM],
        [0, 2],
      ]);
      const suspect = await segments.claimSuspect(LEASE_MS);
      expect(suspect).toMatchObject({ attempts: ALONE_FROM });
      expect(await segments.beginAlone(suspect!)).toBe(true);
      await die();
      await segments.claim(8, LEASE_MS);
      const called = [await segments.claimSuspect(LEASE_MS), await segments.claimSuspect(LEASE_MS)];
      expect(called.find((one) => one?.number === suspect!.number)).toMatchObject({ attempts: CALLED_ALONE });
      expect(called.find((one) => one?.number !== suspect!.number)).toMatchObject({ attempts: ALONE_FROM });
      expect(await segments.beginAlone(suspect!)).toBe(false);
    });

    it('blame no line that was never called, whichever answers to claims are lost', async () => {
      await started(4);
      const seen: number[] = [];
      for (let turn = 0; turn < 14; turn += 1) {
        const claims = [...(await segments.claim(8, LEASE_MS)), await segments.claimSuspect(LEASE_MS)];
        seen.push(...claims.map((one) => one?.attempts ?? 0));
        await die();
      }
      expect(Math.max(...seen)).toBe(ALONE_FROM);
    });
  });

  it('reads no more of 100,000 segments that a provider’s own batches have than of none', async () => {
    await started(4);
    const pagesWithout = await pagesOfClaim();
    const parked = await started(4);
    await opened.database.execute({
      sql: `INSERT INTO batch_segments (batch_number, number, created_on, first_seq, last_seq, state)
            SELECT batch_number, n, created_on, n, n, 'parked' FROM batch_segments, generate_series(10, 100009) n
            WHERE batch_number = $1`,
      values: [parked.number],
    });
    await opened.database.execute({
      sql: `UPDATE batch_segments SET state = 'parked' WHERE batch_number = $1`,
      values: [parked.number],
    });
    await opened.database.execute({ sql: 'VACUUM ANALYZE batch_segments' });
    // The batch itself is one more to look at.
    expect(await pagesOfClaim()).toBeLessThanOrEqual(pagesWithout + 20);
  }, 60_000);

  /** Pages that a claim touches, wherever they are; nothing is claimed. */
  async function pagesOfClaim(): Promise<number> {
    const values = [64, LEASE_MS, [], rankedAtMost(64), 512, [], [], [], [], []];
    const plans: { readonly 'QUERY PLAN': readonly { readonly Plan: Readonly<Record<string, number>> }[] }[] = [];
    const undone = opened.database.transaction(async (session) => {
      plans.push(
        ...(await session.rows<(typeof plans)[number]>({
          sql: `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${CLAIM_SQL}`,
          values,
        })),
      );
      throw new Error('undone');
    });
    await expect(undone).rejects.toThrow('undone');
    const { Plan } = plans[0]!['QUERY PLAN'][0]!;
    return Plan['Shared Hit Blocks']! + Plan['Shared Read Blocks']!;
  }
});
