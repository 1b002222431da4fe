import { randomUUID } from 'node:crypto';
import { AuditRepository } from '../audit/audit.repository';
import { openTestDatabase, type OpenTestDatabase } from '../testing';
import { LedgerRepository } from './ledger.repository';
import { OperatorTopUpsRepository } from './operator-top-ups.repository';

describe(OperatorTopUpsRepository.name, () => {
  const organizationId = randomUUID();
  let opened: OpenTestDatabase;
  let ledger: LedgerRepository;
  let audit: AuditRepository;

  beforeAll(async () => {
    opened = await openTestDatabase();
    ledger = new LedgerRepository(opened.database);
    audit = new AuditRepository(opened.database);
  });

  afterAll(() => opened.close());

  const add = (reference: string, trail = audit): Promise<boolean> =>
    new OperatorTopUpsRepository(opened.database, ledger, trail).add({
      organizationId,
      reference,
      amountUsd: '2.50',
      operator: 'ada',
      requestId: 'sluice-1',
    });
  const trail = (): Promise<object[]> =>
    opened.database.rows({
      sql: 'SELECT operator, key_id, action, target, request_id, status FROM audit_entries WHERE organization_id = $1',
      values: [organizationId],
    });

  it('writes down by whom credits were added, once for each reference', async () => {
    expect([await add('invoice-7'), await add('invoice-7')]).toEqual([true, false]);
    expect((await ledger.accountOf(organizationId)).balanceUsd).toBe('2.500000000000');
    expect(await trail()).toEqual([
      {
        operator: 'ada',
        key_id: null,
        action: 'sluice credits add',
        target: 'invoice-7',
        request_id: 'sluice-1',
        status: 200,
      },
    ]);
  });

  it('adds nothing that it cannot write down', async () => {
    const broken = { addOperatorEntry: () => Promise.reject(new Error('no trail')) } as unknown as AuditRepository;
    await expect(add('invoice-8', broken)).rejects.toThrow('no trail');
    expect((await ledger.accountOf(organizationId)).balanceUsd).toBe('2.500000000000');
    expect(await ledger.audit()).toEqual([]);
  });
});
