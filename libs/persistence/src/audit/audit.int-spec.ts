import { randomUUID } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { createDataSource } from '../data-source';
import { Database } from '../database';
import { createTestDatabase, type TestDatabase } from '../testing';
import { AuditEntryEntity } from './audit-entry.entity';
import { AuditRepository, type BegunAuditEntry } from './audit.repository';

describe(AuditRepository.name, () => {
  let testDatabase: TestDatabase;
  let dataSource: DataSource;
  let audit: AuditRepository;

  beforeAll(async () => {
    testDatabase = await createTestDatabase();
    dataSource = await createDataSource({ url: testDatabase.url }).initialize();
    audit = new AuditRepository(new Database(dataSource));
  });

  afterAll(async () => {
    await dataSource?.destroy();
    await testDatabase?.drop();
  });

  const newEntry = { action: 'DELETE /api/v1/keys/:hash', target: 'ab'.repeat(32), requestId: 'req-1' };
  const begin = (): Promise<BegunAuditEntry> =>
    audit.beginEntry({ ...newEntry, organizationId: randomUUID(), keyId: randomUUID() });
  const find = (id: string): Promise<AuditEntryEntity | null> => dataSource.manager.findOneBy(AuditEntryEntity, { id });

  it('writes down what begins, and its outcome once', async () => {
    const entry = await begin();
    expect(await find(entry.id)).toMatchObject({ ...newEntry, status: null });
    await audit.endEntry(entry, 404);
    await audit.endEntry(entry, 200);
    expect(await find(entry.id)).toMatchObject({ ...newEntry, status: 404 });
  });

  it.each([
    ['changed', `UPDATE audit_entries SET action = 'nothing' WHERE id = $1`],
    ['changed with its outcome', `UPDATE audit_entries SET action = 'nothing', status = 200 WHERE id = $1`],
    ['taken away', 'DELETE FROM audit_entries WHERE id = $1'],
  ])('keeps an entry from being %s', async (_what, sql) => {
    const { id } = await begin();
    await expect(dataSource.query(sql, [id])).rejects.toThrow('audit entries are kept as they are');
    expect(await find(id)).toMatchObject({ ...newEntry, status: null });
  });
});
