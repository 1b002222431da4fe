import { randomUUID } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { createDataSource } from '../data-source';
import { Database } from '../database';
import { createTestDatabase, type TestDatabase } from '../testing';
import { AuditEntryEntity } from './audit-entry.entity';
import { AuditRepository, type AuditFilter, type BegunAuditEntry } from './audit.repository';

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

  it('adds what an action created as the target of an entry without one, and to no other', async () => {
    const created = randomUUID();
    const entry = await audit.beginEntry({
      ...newEntry,
      target: null,
      organizationId: randomUUID(),
      keyId: randomUUID(),
    });
    await audit.endEntry(entry, 201, created);
    expect(await find(entry.id)).toMatchObject({ target: created, status: 201 });
    const other = await begin();
    await audit.endEntry(other, 200, created);
    expect(await find(other.id)).toMatchObject({ target: newEntry.target, status: 200 });
    for (const set of [`target = 'x'`, `status = 500`, `target = NULL, status = NULL`]) {
      await expect(dataSource.query(`UPDATE audit_entries SET ${set} WHERE id = $1`, [other.id])).rejects.toThrow(
        'audit entries are kept as they are',
      );
    }
    const open = await begin();
    const change = dataSource.query(`UPDATE audit_entries SET target = 'x', status = 200 WHERE id = $1`, [open.id]);
    await expect(change).rejects.toThrow('audit entries are kept as they are');
  });

  it('lists the entries of one organization by filter and page, newest first', async () => {
    const [organizationId, keyId, foreign] = [randomUUID(), randomUUID(), await begin()];
    const entries: BegunAuditEntry[] = [];
    for (const action of ['GET /api/v1/keys', 'POST /api/v1/keys', 'DELETE /api/v1/keys/:hash']) {
      entries.push(await audit.beginEntry({ ...newEntry, action, organizationId, keyId }));
    }
    const [first, second, third] = entries.map(({ id }) => id);
    const ids = async (filter: AuditFilter, limit = 10): Promise<string[]> =>
      (await audit.findEntries(organizationId, filter, limit)).map(({ id }) => id);
    expect(await audit.findEntries(organizationId, {}, 1)).toEqual([
      {
        ...newEntry,
        id: third,
        at: expect.any(Date),
        organizationId,
        keyId,
        operator: null,
        clientRequestId: null,
        status: null,
      },
    ]);
    expect(await ids({})).toEqual([third, second, first]);
    expect(await ids({}, 2)).toEqual([third, second]);
    expect(await ids({ cursor: second })).toEqual([first]);
    expect(await ids({ cursor: foreign.id })).toEqual([]);
    expect(await ids({ action: 'POST /api/v1/keys', target: newEntry.target, keyId })).toEqual([second]);
    expect(await ids({ keyId: randomUUID() })).toEqual([]);
    const { at } = (await find(second!))!;
    const after = new Date(at.getTime() + 1).toISOString();
    expect(await ids({ to: after })).toContain(second);
    expect(await ids({ to: at.toISOString() })).not.toContain(second);
    expect(await ids({ from: new Date(at.getTime() - 3_600_000).toISOString() })).toHaveLength(3);
    expect(await ids({ from: new Date(at.getTime() + 3_600_000).toISOString() })).toEqual([]);
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
