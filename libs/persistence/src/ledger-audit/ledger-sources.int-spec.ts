import { randomUUID } from 'node:crypto';
import { BatchRemovalRepository } from '../batches/batch-removal.repository';
import { OutboxRepository } from '../outbox/outbox.repository';
import { chargedBatch, chargedCall, openTestDatabase, type OpenTestDatabase } from '../testing';
import { LedgerAuditRepository, type LedgerAuditReport } from './ledger-audit.repository';

describe('sources of transfers', () => {
  let opened: OpenTestDatabase;
  let audits: LedgerAuditRepository;

  beforeEach(async () => {
    opened = await openTestDatabase();
    audits = new LedgerAuditRepository(opened.database);
  });

  afterEach(() => opened.close());

  const run = (sql: string, values: readonly string[] = []): Promise<number> =>
    opened.database.execute({ sql, values });
  const full = (): Promise<LedgerAuditReport> => audits.audit({ isFull: true });
  const incremental = (): Promise<LedgerAuditReport> => audits.audit({ isFull: false });

  /** Adds a transfer and changes the balance with it, so that the books still balance. */
  async function add(kind: 'top_up' | 'refund', reference: string, debit: string, credit: string, usd: string) {
    await run(
      `INSERT INTO ledger_transfers (reference, kind, debit_account, credit_account, amount_usd)
       VALUES ($1, $2, $3, $4, $5::numeric)`,
      [reference, kind, debit, credit, usd],
    );
    await run(
      `UPDATE ledger_accounts SET balance_usd = balance_usd + $2::numeric,
         credited_usd = credited_usd + CASE WHEN $3 = 'top_up' THEN $2::numeric ELSE 0 END WHERE id = $1`,
      [credit, usd, kind],
    );
  }

  const found = ({ findings }: LedgerAuditReport): unknown[] =>
    findings.map(({ kind, id, figure, foundUsd, expectedUsd }) => [kind, id, figure, +foundUsd, +expectedUsd]);

  it.each([
    ['no charge', 'refund without charge', 'refund', 'org:own', '0.01', 0],
    ['the charge of another account', 'accounts of a refund', 'charge', 'org:other', '0.01', 0.01],
    ['a smaller charge', 'refund above its charge', 'charge', 'org:own', '0.020001', 0.02],
  ])('names a refund of %s, in either audit', async (_what, figure, reference, to, usd, expected) => {
    await full();
    const { id, organizationId } = await chargedCall(opened.database, '0.02');
    const other = await chargedCall(opened.database, '0.02');
    const account = to === 'org:own' ? organizationId : other.organizationId;
    const refund = reference === 'charge' ? id : `refund-${id}`;
    await add('refund', refund, 'revenue', `org:${account}`, usd);
    const finding = ['transfer', refund, figure, +usd, expected];
    expect(found(await incremental())).toEqual([finding]);
    expect(found(await incremental())).toEqual([finding]);
    expect(found(await full())).toEqual([finding]);
  });

  it('names a top-up that does not come from funding', async () => {
    const { organizationId } = await chargedCall(opened.database, '0.02');
    await full();
    await add('top_up', 'gift', 'nowhere', `org:${organizationId}`, '1');
    const finding = ['transfer', 'gift', 'accounts of a top-up', 1, 1];
    expect(found(await incremental())).toEqual([finding]);
    expect(found(await full())).toEqual([finding]);
  });

  it.each([
    ['credit_account', `'elsewhere'`],
    ['workspace_id', `'${randomUUID()}'`],
    ['api_key_hash', `'${'e'.repeat(64)}'`],
  ])('names a batch whose results are gone when a charge has another %s', async (column, value) => {
    const { id, owner, generationIds } = await chargedBatch(opened.database, 3);
    const removal = new BatchRemovalRepository(opened.database, new OutboxRepository(opened.database));
    await removal.remove(id, owner, false);
    expect(found(await full())).toEqual([]);
    await run(`UPDATE ledger_transfers SET ${column} = ${value} WHERE reference = $1`, [generationIds[1]!]);
    expect((await full()).findings).toContainEqual(
      expect.objectContaining({ kind: 'batch', id, figure: 'charges of its lines' }),
    );
  });
});
