import { randomUUID } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { AuditRepository } from './audit/audit.repository';
import { createDataSource } from './data-source';
import { Database } from './database';
import { LedgerRepository } from './ledger/ledger.repository';
import { OperatorTopUpsRepository } from './ledger/operator-top-ups.repository';
import { OutboxRepository } from './outbox/outbox.repository';
import { aVideo, createTestDatabase, DatabaseProxy, type TestDatabase } from './testing';
import { VideoIntakeRepository } from './videos/video-intake.repository';
import { VideoViewsRepository } from './videos/video-views.repository';

describe('a commit that is not answered', () => {
  let testDatabase: TestDatabase;
  let proxy: DatabaseProxy;
  let dataSource: DataSource;
  let database: Database;
  let ledger: LedgerRepository;

  beforeAll(async () => {
    testDatabase = await createTestDatabase();
    proxy = await DatabaseProxy.start(testDatabase.url);
    dataSource = await createDataSource({ url: proxy.url, connectTimeoutMs: 20_000 }).initialize();
    database = new Database(dataSource);
    ledger = new LedgerRepository(database);
  });

  afterAll(async () => {
    await dataSource?.destroy();
    await proxy?.stop();
    await testDatabase?.drop();
  });

  it('leaves its video accepted, and answered as a look at it shows it', async () => {
    const video = aVideo();
    await ledger.topUp(video.organizationId, '10', randomUUID());
    const met = proxy.failCommit('video-accept', 'unanswered');
    const answer = await new VideoIntakeRepository(database, ledger, new OutboxRepository(database)).accept(video);
    await met;
    expect(answer).toEqual(await new VideoViewsRepository(database).findForWorkspace(video.id, video));
    expect((await ledger.accountOf(video.organizationId)).heldUsd).toBe('0.500000000000');
  });

  it('counts credits that an operator adds, once', async () => {
    const organizationId = randomUUID();
    const topUps = new OperatorTopUpsRepository(database, ledger, new AuditRepository(database));
    const topUp = { organizationId, reference: randomUUID(), amountUsd: '5', operator: 'ada', requestId: 'sluice-1' };
    const met = proxy.failCommit('INSERT INTO ledger_transfers', 'unanswered');
    expect(await topUps.add(topUp)).toBe(true);
    await met;
    expect(await topUps.add(topUp)).toBe(false);
    expect((await ledger.accountOf(organizationId)).balanceUsd).toBe('5.000000000000');
  });
});
