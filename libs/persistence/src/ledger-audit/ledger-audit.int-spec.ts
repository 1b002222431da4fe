import { randomUUID } from 'node:crypto';
import { mintId } from '@libs/contracts';
import type { Session } from '../database';
import { BatchRemovalRepository } from '../batches/batch-removal.repository';
import { LedgerRepository } from '../ledger/ledger.repository';
import { OutboxRepository } from '../outbox/outbox.repository';
import { atOnce, chargedBatch, chargedCall, chargedVideo, openTestDatabase, type OpenTestDatabase } from '../testing';
import { LedgerAuditRepository, type LedgerAuditReport } from './ledger-audit.repository';

type Charged = Awaited<ReturnType<typeof chargedBatch>>;

const NOTHING = { count: 0, driftPicousd: 0n, findings: [] };

describe(LedgerAuditRepository.name, () => {
  let opened: OpenTestDatabase;
  let audits: LedgerAuditRepository;
  let ledger: LedgerRepository;

  beforeEach(async () => {
    opened = await openTestDatabase();
    audits = new LedgerAuditRepository(opened.database);
    ledger = new LedgerRepository(opened.database);
  });

  afterEach(() => opened.close());

  const run = (sql: string, values: readonly (string | number)[] = []): Promise<number> =>
    opened.database.execute({ sql, values });
  const full = (): Promise<LedgerAuditReport> => audits.audit({ isFull: true });
  const incremental = (): Promise<LedgerAuditReport> => audits.audit({ isFull: false });
  const changeAmount = (id: string): Promise<number> =>
    run(`UPDATE ledger_transfers SET amount_usd = amount_usd + 0.000001 WHERE reference = $1`, [id]);

  /** Transactions of other databases on the server hold the watermark up, too: until nothing is left to read again. */
  async function untilAllIsRead(): Promise<void> {
    let report = await incremental();
    while (report.transfers > 0) report = await incremental();
    expect(report).toMatchObject({ ...NOTHING, isFull: false });
  }

  it('reads everything the first time, and then what is new', async () => {
    await chargedCall(opened.database, '0.02');
    expect(await incremental()).toMatchObject({ ...NOTHING, isFull: true, transfers: 2 });
    await untilAllIsRead();
    await chargedCall(opened.database, '0.03');
    await chargedBatch(opened.database, 3);
    await chargedVideo(opened.database, '0.5', '0.5');
    expect(await incremental()).toMatchObject({ ...NOTHING, isFull: false, transfers: 2 + 4 + 2 });
    await untilAllIsRead();
    expect(await full()).toMatchObject({ ...NOTHING, isFull: true, transfers: 10 });
  });

  it('names new charges and sources that have no equal', async () => {
    await full();
    const [dearer, unfounded, uncharged, stranger] = [
      await chargedCall(opened.database, '0.02'),
      await chargedCall(opened.database, '0.02'),
      await chargedCall(opened.database, '0.02'),
      await chargedCall(opened.database, '0.02'),
    ];
    await changeAmount(dearer.id);
    await run('UPDATE generations SET cost_usd = 0 WHERE id = $1', [unfounded.id]);
    await run('DELETE FROM ledger_transfers WHERE reference = $1', [uncharged.id]);
    await run('UPDATE ledger_transfers SET workspace_id = $2::uuid WHERE reference = $1', [stranger.id, randomUUID()]);
    const { findings } = await incremental();
    const found = findings.filter(({ kind }) => kind === 'charge').map(({ id, figure }) => [id, figure]);
    expect(new Map(found as [string, string][])).toEqual(
      new Map([
        [dearer.id, 'amount_usd'],
        [unfounded.id, 'charge without source'],
        [uncharged.id, 'source without charge'],
        [stranger.id, 'owner'],
      ]),
    );
  });

  it('compares new lines of batches with their results, and batches with their holds', async () => {
    await full();
    const { id, generationIds } = await chargedBatch(opened.database, 3);
    await run('UPDATE batch_results SET cost_usd = cost_usd + 0.000001 WHERE generation_id = $1', [generationIds[1]!]);
    const { findings } = await incremental();
    expect(findings.map((finding) => [finding.kind, finding.id, finding.figure])).toEqual([
      ['charge', generationIds[1], 'amount_usd'],
      ['batch', id, 'costs of results on shared capacity'],
      ['batch', id, 'settled_usd of its hold'],
    ]);
  });

  it('compares the parts of new calls with their cost', async () => {
    await full();
    const parts = { details: { attempts: [], gatewayToolsUsd: '0.005', cacheDiscountUsd: '0.001' } };
    const { id } = await chargedCall(opened.database, '0.02', {}, parts);
    expect((await incremental()).count).toBe(0);
    const changed = `jsonb_set(details::jsonb, '{gatewayToolsUsd}', '"0.005001"')::json`;
    // As if the call had been settled so: a change of an old call is for a full audit.
    await run(`UPDATE generations SET details = ${changed}, written_in = pg_current_xact_id()::text::bigint`);
    const { findings } = await incremental();
    expect(findings.map((finding) => [finding.kind, finding.id, finding.figure])).toEqual([
      ['charge', id, 'details: gatewayToolsUsd + tokensUsd'],
    ]);
  });

  it('judges parts of calls from before tokens were noted by bounds', async () => {
    const parts = { details: { attempts: [], gatewayToolsUsd: '0.005' } };
    const { id } = await chargedCall(opened.database, '0.02', {}, parts);
    const set = (usd: string): Promise<number> =>
      run(`UPDATE generations SET details = json_build_object('gatewayToolsUsd', '${usd}')`);
    await set('0.02');
    expect((await full()).findings).toEqual([]);
    for (const usd of ['0.020001', '-0.000001']) {
      await set(usd);
      expect((await full()).findings).toMatchObject([
        { id, figure: 'details: gatewayToolsUsd', foundUsd: expect.stringContaining(usd) },
      ]);
    }
  });

  it.each([
    ['ledger_accounts', 'balance_usd'],
    ['ledger_accounts', 'credited_usd'],
    ['ledger_accounts', 'held_usd'],
    ['ledger_keys', 'total_usd'],
    ['ledger_key_days', 'charged_usd'],
  ])('finds a change of %s.%s, however long nothing was charged there', async (table, column) => {
    await chargedCall(opened.database, '0.02');
    await full();
    await incremental();
    await run(`UPDATE ${table} SET ${column} = ${column} + 0.000001`);
    const { isFull, driftPicousd } = await incremental();
    expect([isFull, driftPicousd >= 1_000_000n]).toEqual([false, true]);
    expect((await incremental()).count).toBeGreaterThan(0);
  });

  it('reports a finding in a charge until a full audit no longer has it', async () => {
    await full();
    const { id } = await chargedCall(opened.database, '0.02');
    await run('UPDATE generations SET cost_usd = 0.03 WHERE id = $1', [id]);
    const found = await incremental();
    expect(found).toMatchObject({ count: 1, findings: [{ kind: 'charge', id, figure: 'amount_usd' }] });
    const { count } = await incremental();
    expect(count).toBeGreaterThan(0);
    await run('UPDATE generations SET cost_usd = 0.02 WHERE id = $1', [id]);
    expect((await incremental()).findings).toMatchObject([{ kind: 'charge', id }]);
    expect(await full()).toMatchObject(NOTHING);
    expect(await incremental()).toMatchObject(NOTHING);
  });

  it('leaves a change of an old charge to the full audit', async () => {
    const { id } = await chargedCall(opened.database, '0.02');
    await full();
    await untilAllIsRead();
    await changeAmount(id);
    expect((await incremental()).count).toBe(0);
    expect((await full()).findings).toContainEqual(expect.objectContaining({ kind: 'charge', id }));
  });

  /** Charges a call in a transaction that stays open until the work is done. */
  async function during<T>(end: 'COMMIT' | 'ROLLBACK', id: string, work: () => Promise<T>): Promise<T> {
    return opened.database.session(async (session) => {
      await session.client.query('BEGIN');
      await chargeWithoutSource(session, id);
      const result = await work();
      await session.client.query(end);
      return result;
    });
  }

  const chargeWithoutSource = (session: Pick<Session, 'execute'>, id: string): Promise<number> =>
    session.execute({
      sql: `INSERT INTO ledger_transfers (reference, kind, debit_account, credit_account, amount_usd)
            VALUES ($1, 'charge', 'nobody', 'revenue', 0.000001)`,
      values: [id],
    });

  it('does not pass over a transaction that commits after younger ones were audited', async () => {
    await full();
    const late = mintId('gen');
    const meanwhile = await during('COMMIT', late, async () => {
      await chargedCall(opened.database, '0.02');
      await chargedCall(opened.database, '0.02');
      return [await incremental(), await incremental()];
    });
    expect(meanwhile).toMatchObject([NOTHING, NOTHING]);
    expect((await incremental()).findings).toMatchObject([
      { kind: 'charge', id: late, figure: 'charge without source' },
    ]);
  });

  it('counts what a transaction did that was rolled back for nothing', async () => {
    await full();
    await during('ROLLBACK', mintId('gen'), incremental);
    await chargedCall(opened.database, '0.02');
    expect(await incremental()).toMatchObject(NOTHING);
    expect(await full()).toMatchObject(NOTHING);
  });

  it('finds nothing in books that are written while it reads', async () => {
    await full();
    const done = { charges: false };
    const reports: LedgerAuditReport[] = [];
    const audit = async (): Promise<void> => {
      while (!done.charges) reports.push(await incremental());
    };
    const charge = async (): Promise<void> => {
      await atOnce(60, (index) => chargedCall(opened.database, index % 5 === 0 ? null : '0.02'));
      await chargedBatch(opened.database, 40);
      done.charges = true;
    };
    await Promise.all([audit(), charge()]);
    expect(reports.filter(({ count }) => count > 0)).toEqual([]);
    expect(reports.length).toBeGreaterThan(2);
    expect(await incremental()).toMatchObject(NOTHING);
    expect(await full()).toMatchObject({ ...NOTHING, transfers: 60 + 48 + 1 + 40 });
  });

  it('adds up what is new once, of however many audits at once', async () => {
    await full();
    for (let round = 0; round < 3; round += 1) {
      await chargedCall(opened.database, '0.02');
      const reports = await Promise.allSettled([incremental(), incremental(), full()]);
      // One that lost three times says so, and has changed nothing.
      for (const report of reports) {
        if (report.status === 'fulfilled') expect(report.value).toMatchObject(NOTHING);
        else expect(report.reason).toMatchObject({ code: 'unavailable' });
      }
    }
    expect(await incremental()).toMatchObject({ ...NOTHING, isFull: false });
  });

  it('begins again where the last audit ended when it died before its own end', async () => {
    await full();
    await untilAllIsRead();
    await chargedCall(opened.database, '0.02');
    await run(`CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'died'; END $$`);
    await run('CREATE TRIGGER die BEFORE UPDATE ON ledger_audits FOR EACH ROW EXECUTE FUNCTION die()');
    await expect(incremental()).rejects.toThrow('died');
    await run('DROP TRIGGER die ON ledger_audits');
    expect(await incremental()).toMatchObject({ ...NOTHING, isFull: false, transfers: 2 });
    await untilAllIsRead();
  });

  it('reads everything after a restore from the dump of a server that had counted further', async () => {
    await chargedCall(opened.database, '0.02');
    await full();
    await run('UPDATE ledger_audits SET watermark = watermark + 1000000');
    await run('UPDATE ledger_transfers SET written_in = written_in + 1000000');
    expect(await incremental()).toMatchObject({ ...NOTHING, isFull: true });
    await chargedCall(opened.database, '0.02');
    expect(await incremental()).toMatchObject({ ...NOTHING, isFull: false });
  });

  it('knows refunds', async () => {
    const { id, organizationId } = await chargedCall(opened.database, '0.02');
    await full();
    await run(
      `INSERT INTO ledger_transfers (reference, kind, debit_account, credit_account, amount_usd)
       VALUES ($2, 'refund', 'revenue', 'org:' || $1, 0.01)`,
      [organizationId, id],
    );
    expect((await incremental()).findings).toMatchObject([{ kind: 'account', figure: 'balance_usd' }]);
    await run(`UPDATE ledger_accounts SET balance_usd = balance_usd + 0.01 WHERE id = 'org:' || $1`, [organizationId]);
    expect(await incremental()).toMatchObject(NOTHING);
    expect(await full()).toMatchObject(NOTHING);
    expect(await ledger.creditsOf(organizationId)).toEqual({
      totalCreditsUsd: '10.000000000000',
      totalUsageUsd: '0.010000000000',
    });
  });

  it('compares the charges of a batch whose results are gone as a sum', async () => {
    const removed = await chargedBatch(opened.database, 3);
    await new BatchRemovalRepository(opened.database, new OutboxRepository(opened.database)).remove(
      removed.id,
      removed.owner,
      false,
    );
    const old = await chargedBatch(opened.database, 2);
    await run(`UPDATE batches SET created_at = now() - interval '31 days' WHERE id = $1`, [old.id]);
    await run('DELETE FROM batch_results WHERE batch_number = $1', [old.number.toString()]);
    expect(await incremental()).toMatchObject({ ...NOTHING, isFull: true });
    for (const { id, generationIds } of [removed, old]) {
      await changeAmount(generationIds[0]!);
      expect((await full()).findings).toContainEqual(
        expect.objectContaining({ kind: 'batch', id, figure: 'charges of its lines' }),
      );
      await run(`UPDATE ledger_transfers SET amount_usd = amount_usd - 0.000001 WHERE reference = $1`, [
        generationIds[0]!,
      ]);
    }
    expect(await full()).toMatchObject(NOTHING);
  });

  it('names a new difference beside a large batch whose results its owner deleted', async () => {
    await incremental();
    const batches = [await chargedBatch(opened.database, 2), await chargedBatch(opened.database, 2)];
    // Differences are looked up in the order of their ids.
    const [removed, other] = batches.toSorted((one, two) => (one.id < two.id ? -1 : 1)) as [Charged, Charged];
    await new BatchRemovalRepository(opened.database, new OutboxRepository(opened.database)).remove(
      removed.id,
      removed.owner,
      false,
    );
    await run(
      `INSERT INTO ledger_transfers (reference, kind, debit_account, credit_account, amount_usd)
       SELECT left($1::text, -6) || lpad(n::text, 6, '0'), 'charge', 'org:' || $2, 'revenue', 0.01
       FROM generate_series(100, 10199) n`,
      [removed.generationIds[0]!, removed.owner.organizationId],
    );
    const tampered = other.generationIds[1]!;
    await run('UPDATE batch_results SET cost_usd = cost_usd + 0.000001 WHERE generation_id = $1', [tampered]);
    const { findings } = await incremental();
    expect(findings.map(({ id }) => id)).toContain(tampered);
  });

  it('reports results that are gone before their time', async () => {
    const { number, generationIds } = await chargedBatch(opened.database, 2);
    await run('DELETE FROM batch_results WHERE batch_number = $1', [number.toString()]);
    const charges = (await full()).findings.filter(({ kind }) => kind === 'charge');
    expect(charges.map(({ id, figure }) => [id, figure])).toEqual(
      generationIds.map((id) => [id, 'charge without source']),
    );
  });

  it('shows credits and usage without reading the history, so they cost the same however long it is', async () => {
    const { organizationId } = await chargedCall(opened.database, '0.02');
    await run('REVOKE ALL ON ledger_transfers FROM sluice_tenant');
    expect(await ledger.creditsOf(organizationId)).toEqual({
      totalCreditsUsd: '10.000000000000',
      totalUsageUsd: '0.020000000000',
    });
  });

  it('shows credits and usage of an organization with a batch that runs, and of one without an account', async () => {
    const { owner } = await chargedBatch(opened.database, 3, { isRunning: true });
    expect(await ledger.creditsOf(owner.organizationId)).toEqual({
      totalCreditsUsd: '10.000000000000',
      totalUsageUsd: '0.060000000000',
    });
    expect(await ledger.creditsOf(randomUUID())).toEqual({ totalCreditsUsd: '0', totalUsageUsd: '0' });
    expect(await full()).toMatchObject(NOTHING);
  });

  it('lists the first of many findings and counts all', async () => {
    await chargedCall(opened.database, '0.02');
    await run(`INSERT INTO ledger_transfers (reference, kind, debit_account, credit_account, amount_usd)
               SELECT 'gen-1-' || i, 'charge', 'nobody', 'revenue', 0.000001 FROM generate_series(1, 1500) i`);
    const report = await full();
    expect([report.findings.length, report.count, report.driftPicousd]).toEqual([1_000, 1_500, 1_500_000_000n]);
  });
});
