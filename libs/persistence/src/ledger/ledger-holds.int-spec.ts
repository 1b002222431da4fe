import { randomUUID } from 'node:crypto';
import { AuditRepository } from '../audit/audit.repository';
import { openTestDatabase, storeBatch, storeVideo, type OpenTestDatabase } from '../testing';
import { LedgerHoldsRepository } from './ledger-holds.repository';
import { LedgerRepository } from './ledger.repository';

const RELEASE = { operator: 'ada', requestId: 'sluice-1', reason: 'its batch was deleted by hand' };

describe(LedgerHoldsRepository.name, () => {
  let opened: OpenTestDatabase;
  let ledger: LedgerRepository;
  let holds: LedgerHoldsRepository;

  beforeEach(async () => {
    opened = await openTestDatabase();
    ledger = new LedgerRepository(opened.database);
    holds = new LedgerHoldsRepository(opened.database, ledger, new AuditRepository(opened.database));
  });

  afterEach(async () => {
    expect(await ledger.audit()).toEqual([]);
    await opened.close();
  });

  const execute = (sql: string, ...values: string[]): Promise<number> => opened.database.execute({ sql, values });

  /** A batch that ended without its hold, as only a person or a defect can bring about; its time is over. */
  async function storeOrphan(): Promise<{ id: string; organizationId: string }> {
    const { id, owner } = await storeBatch(opened.database, 2, '3');
    await execute(
      `UPDATE batches SET status = 'completed', finalized_at = now(), completed = 2, failed = 0 WHERE id = $1`,
      id,
    );
    await execute(`UPDATE ledger_holds SET expires_at = now() - interval '1 hour' WHERE id = $1`, id);
    return { id, organizationId: owner.organizationId };
  }

  const trail = (): Promise<{ target: string }[]> =>
    opened.database.rows({ sql: `SELECT operator, action, target, status FROM audit_entries` });

  it('finds open holds past their time whose batch or video is over or gone, and no others', async () => {
    const ended = await storeOrphan();
    const [gone, live, young] = [await storeOrphan(), await storeOrphan(), await storeOrphan()];
    const video = await storeVideo(opened.database);
    await execute(`UPDATE ledger_holds SET expires_at = now() - interval '1 minute' WHERE id = $1`, video.id);
    await execute('DELETE FROM batches WHERE id = $1', gone.id);
    await execute(
      `UPDATE batches SET status = 'in_progress', finalized_at = NULL, completed = NULL, failed = NULL WHERE id = $1`,
      live.id,
    );
    await execute(`UPDATE ledger_holds SET expires_at = now() + interval '1 hour' WHERE id = $1`, young.id);
    const found = await holds.findOrphans(10);
    expect(new Map(found.map(({ id, owner }) => [id, owner]))).toEqual(
      new Map([
        [ended.id, 'completed'],
        [gone.id, null],
      ]),
    );
    expect(await holds.countOrphans()).toBe(2);
    await execute(`UPDATE videos SET status = 'failed', finished_at = now(), request = NULL WHERE id = $1`, video.id);
    expect(await holds.countOrphans()).toBe(3);
  });

  it('charges what was spent on a released hold, gives back the rest, and says who did it and why', async () => {
    const { id, organizationId } = await storeOrphan();
    // As two lines leave it that were stored.
    await execute(`UPDATE ledger_holds SET settled_usd = 0.5 WHERE id = $1`, id);
    await execute(
      `INSERT INTO ledger_transfers (reference, kind, debit_account, credit_account, amount_usd, api_key_hash)
       SELECT $1, 'charge', account_id, 'revenue', 0.5, api_key_hash FROM ledger_holds WHERE id = $2`,
      randomUUID(),
      id,
    );
    await execute(
      `INSERT INTO ledger_key_days (api_key_hash, day, charged_usd)
       SELECT api_key_hash, (now() AT TIME ZONE 'UTC')::date, 0.5 FROM ledger_holds WHERE id = $1`,
      id,
    );
    expect(await holds.release(id, RELEASE)).toBe(true);
    expect(await ledger.accountOf(organizationId)).toEqual({
      balanceUsd: '9.500000000000',
      heldUsd: '0.000000000000',
      availableUsd: '9.500000000000',
    });
    expect(await trail()).toEqual([
      { operator: 'ada', action: 'sluice ledger release-hold', target: `${id}: ${RELEASE.reason}`, status: 200 },
    ]);
  });

  it('releases a hold once, however often it is asked to, also at the same moment', async () => {
    const { id, organizationId } = await storeOrphan();
    const answers = await Promise.all(Array.from({ length: 5 }, () => holds.release(id, RELEASE)));
    expect(answers.filter(Boolean)).toHaveLength(1);
    expect((await ledger.accountOf(organizationId)).availableUsd).toBe('10.000000000000');
    expect(await trail()).toHaveLength(1);
  });

  it('releases no hold whose batch runs, nor one whose time is not over, nor one that is not there', async () => {
    const [live, young] = [await storeBatch(opened.database, 2), await storeOrphan()];
    await execute(`UPDATE ledger_holds SET expires_at = now() - interval '1 hour' WHERE id = $1`, live.id);
    await execute(`UPDATE ledger_holds SET expires_at = now() + interval '1 hour' WHERE id = $1`, young.id);
    await expect(holds.release(live.id, RELEASE)).rejects.toMatchObject({ code: 'conflict' });
    await expect(holds.release(young.id, RELEASE)).rejects.toMatchObject({ code: 'conflict' });
    await expect(holds.release('batch-none', RELEASE)).rejects.toMatchObject({ code: 'not_found' });
    expect(await trail()).toEqual([]);
  });
});
