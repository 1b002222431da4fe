import { randomUUID } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { BatchEndingsRepository } from '../batches/batch-endings.repository';
import { BatchResultPagesRepository } from '../batches/batch-result-pages.repository';
import { BatchRemovalRepository } from '../batches/batch-removal.repository';
import { BatchLineViewsRepository } from '../batches/batch-line-views.repository';
import { BatchViewsRepository } from '../batches/batch-views.repository';
import { createDataSource } from '../data-source';
import { Database } from '../database';
import { GenerationContentsRepository } from '../generations/generation-contents.repository';
import { GenerationsRepository } from '../generations/generations.repository';
import { LedgerRepository } from '../ledger/ledger.repository';
import { OutboxRepository } from '../outbox/outbox.repository';
import type { SqlStatement } from '../session';
import {
  announcementsOf,
  answersToForeign,
  openTwoTenants,
  roundTripsOf,
  storeBatch,
  type PropertiedTenant,
  type StoredBatch,
  type TwoTenants,
} from '../testing';
import { VideoViewsRepository } from '../videos/video-views.repository';
import { TENANT_ROLE, type Tenant } from './tenant';
import { TenantDatabase } from './tenant-database';

const COUNT = 'SELECT count(*)::integer AS n FROM batches';
const WHO = `SELECT current_user AS role, coalesce(current_setting('sluice.organization', true), '')
               || coalesce(current_setting('sluice.workspace', true), '')
               || coalesce(current_setting('sluice.batches', true), '') AS settings`;

let tenants: TwoTenants;
let database: Database;
let mine: PropertiedTenant;
let theirs: PropertiedTenant;
let nobody: unknown;

beforeAll(async () => {
  tenants = await openTwoTenants();
  ({ database, mine, theirs } = tenants);
  nobody = await database.firstRow({ sql: WHO });
});

afterAll(() => tenants?.close());

describe(TenantDatabase.name, () => {
  it('sees one tenant, as a role that policies bind', async () => {
    const tenant = database.asTenant(mine, [mine.batchId, theirs.batchId]);
    expect(await tenant.firstRow({ sql: WHO })).toEqual({
      role: TENANT_ROLE,
      settings: `${mine.organizationId}${mine.workspaceId}${mine.batchId},${theirs.batchId}`,
    });
    expect(await tenant.rows({ sql: COUNT })).toEqual([{ n: 1 }]);
    expect(await tenant.rows({ sql: 'SELECT batch_number::integer AS n FROM batch_results' })).toEqual([{ n: -1 }]);
    expect(await database.rows({ sql: COUNT })).toEqual([{ n: 2 }]);
  });

  it('asks in one round trip what takes one without a tenant, and begins a transaction in the one that it takes', async () => {
    const tenant = database.asTenant(mine);
    const one: SqlStatement = { name: 'one', sql: 'SELECT id FROM batches WHERE id = $1', values: [mine.batchId] };
    await tenant.rows(one);
    expect(await roundTripsOf(database, () => tenant.rows(one))).toBe(1);
    expect(await roundTripsOf(database, () => tenant.rows({ sql: COUNT }))).toBe(1);
    expect(await roundTripsOf(database, () => tenant.execute({ sql: 'UPDATE batches SET fence = fence' }))).toBe(1);
    expect(await roundTripsOf(database, () => tenant.copyEach('SELECT 1', () => undefined))).toBe(1);
    expect(await roundTripsOf(database, () => tenant.transaction((session) => session.rows(one)))).toBe(3);
    expect(await roundTripsOf(database, () => database.transaction((session) => session.rows(one)))).toBe(3);
  });

  it('leaves nothing of itself to the next user of the connection, however it ended', async () => {
    const tenant = database.asTenant(mine, [mine.batchId]);
    const broken = { sql: 'SELECT 1 / 0' };
    const endings: (() => Promise<unknown>)[] = [
      () => tenant.rows({ sql: COUNT }),
      () => tenant.rows({ name: 'named', sql: COUNT }),
      () => tenant.rows(broken),
      () => tenant.rows({ name: 'never-parsed', sql: 'SELECT nothing FROM nowhere' }),
      () => tenant.rows({ name: 'never-bound', sql: 'SELECT $1::uuid', values: ['no uuid'] }),
      () => tenant.rows({ name: 'named', sql: 'SELECT 2' }),
      () => tenant.copyEach('SELECT seq FROM batch_results', () => undefined),
      () => tenant.copyEach('SELECT 1 / 0', () => undefined),
      () =>
        tenant.copyEach('SELECT 1', () => {
          throw new Error('no');
        }),
      () => tenant.transaction((session) => session.rows({ sql: COUNT })),
      () => tenant.transaction((session) => session.rows(broken)),
      () =>
        tenant.transaction(async () => {
          throw new Error('no');
        }),
      () => tenant.entities((manager) => manager.query(COUNT)),
    ];
    const failed: number[] = [];
    for (const [index, ending] of endings.entries()) {
      await ending().catch(() => failed.push(index));
      expect([index, await database.firstRow({ sql: WHO })]).toEqual([index, nobody]);
      expect([index, await database.rows({ sql: COUNT })]).toEqual([index, [{ n: 2 }]]);
    }
    expect(failed).toEqual([2, 3, 4, 5, 7, 8, 10, 11]);
    // A statement that could not be parsed is parsed again, one that could is not.
    await expect(tenant.rows({ name: 'never-parsed', sql: 'SELECT nothing FROM nowhere' })).rejects.toMatchObject({
      code: '42P01',
    });
    expect(await tenant.rows({ name: 'named', sql: COUNT })).toEqual([{ n: 1 }]);
    const id = randomUUID();
    expect(
      await tenant.rows({ name: 'never-bound', sql: 'SELECT $1::uuid AS id', values: [id] }).catch(String),
    ).toContain('unique');
  });

  it('goes back when a transaction fails, and takes its writes with it', async () => {
    const work = database.asTenant(mine).transaction(async (session) => {
      expect(await session.execute({ sql: 'UPDATE batches SET fence = 7' })).toBe(1);
      throw new Error('enough');
    });
    await expect(work).rejects.toThrow('enough');
    expect(await database.rows({ sql: 'SELECT 1 FROM batches WHERE fence = 7' })).toEqual([]);
  });

  it('keeps a thousand questions of tenants and of nobody apart on two connections', async () => {
    const narrow = await createDataSource({ url: tenants.url, poolSize: 2, connectTimeoutMs: 20_000 }).initialize();
    try {
      const pool = new Database(narrow);
      const ask = async (index: number): Promise<unknown> => {
        const tenant = index % 2 === 0 ? mine : theirs;
        const own = pool.asTenant(tenant, [mine.batchId, theirs.batchId]);
        const sql = 'SELECT organization_id AS own FROM batches';
        const query = { name: 'own', sql };
        switch (index % 5) {
          case 0:
            return pool.rows({ sql: COUNT }).then(([row]) => expect(row).toEqual({ n: 2 }));
          case 1:
            return own.transaction((session) => session.rows(query)).then(isOnly(tenant));
          case 2:
            return expect(own.rows({ sql: 'SELECT 1 / 0' })).rejects.toMatchObject({ code: '22012' });
          case 3:
            return own.entities((manager) => manager.query<{ own: string }[]>(sql)).then(isOnly(tenant));
          default:
            return own.rows(query).then(isOnly(tenant));
        }
      };
      await Promise.all(Array.from({ length: 1_000 }, (_, index) => ask(index)));
    } finally {
      await narrow.destroy();
    }
  }, 30_000);

  it.each([
    { organizationId: `'; RESET ROLE; --` },
    { organizationId: '' },
    { organizationId: randomUUID(), workspaceId: 'default' },
  ])('is not opened for a tenant that is named %j', (tenant) => {
    expect(() => database.asTenant(tenant)).toThrow(expect.objectContaining({ code: 'server' }));
  });

  it('is not opened for a batch that is named by more than an id', () => {
    expect(() => database.asTenant(mine, [`x', true); RESET ROLE; --`])).toThrow('Internal error');
  });
});

const isOnly =
  ({ organizationId }: Tenant) =>
  (rows: unknown): void =>
    expect(rows).toEqual([{ own: organizationId }]);

/** Repositories of a programmer who forgot whom they work for: they look for a row by its id alone. */
class ForgetfulDatabase extends Database {
  readonly forgotten: string[] = [];

  constructor(
    source: DataSource,
    private readonly isFenced: boolean,
  ) {
    super(source);
  }

  override asTenant(tenant: Tenant, batchIds?: readonly string[]): TenantDatabase {
    const fenced = super.asTenant(tenant, batchIds);
    const forget = (statement: SqlStatement): SqlStatement => {
      const sql = statement.sql.replaceAll(/(?:b\.)?workspace_id = (\$\d)/g, '$1::text IS NOT NULL');
      if (sql !== statement.sql) this.forgotten.push(statement.name ?? '');
      return { ...statement, sql, name: undefined };
    };
    const all = this.isFenced ? fenced : (this as unknown as TenantDatabase);
    return Object.assign(Object.create(fenced) as TenantDatabase, {
      rows: (statement: SqlStatement) =>
        this.isFenced ? fenced.rows(forget(statement)) : this.rows(forget(statement)),
      firstRow: (statement: SqlStatement) =>
        this.isFenced ? fenced.firstRow(forget(statement)) : this.firstRow(forget(statement)),
      transaction: <T>(work: Parameters<TenantDatabase['transaction']>[0]) =>
        all.transaction((session) =>
          work(
            Object.assign(Object.create(session), {
              firstRow: (statement: SqlStatement) => session.firstRow(forget(statement)),
            }) as typeof session,
          ),
        ) as Promise<T>,
    });
  }
}

describe('a repository that forgets to ask whose a row is', () => {
  let batch: StoredBatch;
  const tenant = (): PropertiedTenant => mine;

  beforeAll(async () => {
    batch = await storeBatch(database, 2);
    await database.execute({
      sql: `INSERT INTO batch_results (created_on, batch_number, seq, custom_id, generation_id, body)
            VALUES ($1, $2, 0, 'line-0', 'gen-of-line-0', '')`,
      values: [batch.createdOn, batch.number],
    });
  });

  const lineOf = (lines: BatchLineViewsRepository) =>
    lines.find('gen-of-line-0', { wholeStem: batch.id.slice(0, -6), index: 0 }, tenant(), 1_000);

  function repositories(source: Database) {
    const [ledger, outbox] = [new LedgerRepository(source), new OutboxRepository(source)];
    return {
      views: new BatchViewsRepository(source),
      lines: new BatchLineViewsRepository(source),
      videos: new VideoViewsRepository(source),
      endings: new BatchEndingsRepository(source, ledger, outbox, announcementsOf(source)),
      removal: new BatchRemovalRepository(source, outbox),
    };
  }

  it('finds another tenant’s batch and video without the second fence, which shows what it is for', async () => {
    const forgetful = new ForgetfulDatabase(tenants.dataSource, false);
    const { views, videos, lines } = repositories(forgetful);
    expect(await views.findForWorkspace(batch.id, tenant())).toMatchObject({ id: batch.id, total: 2 });
    expect(await lineOf(lines)).toMatchObject({ workspaceId: batch.owner.workspaceId });
    const foreignVideo = (JSON.parse(theirs.rows.get('videos')!) as { id: string }).id;
    expect(await videos.findForWorkspace(foreignVideo, tenant())).toMatchObject({ id: foreignVideo });
    expect(forgetful.forgotten).toEqual(['batch-view', 'batch-like', 'batch-line-view', 'video-view']);
  });

  it('finds, stops and removes nothing of another tenant with it, and the tenant’s own as ever', async () => {
    const forgetful = new ForgetfulDatabase(tenants.dataSource, true);
    const { views, videos, lines, endings, removal } = repositories(forgetful);
    expect(await views.findForWorkspace(batch.id, tenant())).toBeNull();
    expect(await lineOf(lines)).toBeNull();
    expect(await endings.cancel(batch.id, tenant())).toBe('unknown');
    expect(await removal.remove(batch.id, tenant(), true)).toEqual({ kind: 'unknown' });
    const foreignVideo = (JSON.parse(theirs.rows.get('videos')!) as { id: string }).id;
    expect(await videos.findForWorkspace(foreignVideo, tenant())).toBeNull();
    const anything = { statuses: null, createdAfter: null, createdBefore: null };
    const listed = await views.listForWorkspace(tenant(), anything, null, 10);
    expect(listed?.map(({ id }) => id)).toEqual([mine.batchId]);
    expect(new Set(forgetful.forgotten)).toEqual(
      new Set([
        'batch-view',
        'batch-like',
        'batch-lock-to-cancel',
        'batch-lock-to-remove',
        'video-view',
        'batches-list-ids',
        'batches-list',
      ]),
    );
    expect(await views.findForWorkspace(mine.batchId, tenant())).toMatchObject({ id: mine.batchId });
    expect(await endings.cancel(batch.id, batch.owner)).toBe('stopping');
  });

  it('reads no result by the number of another tenant’s batch', async () => {
    const pages = new BatchResultPagesRepository(database);
    const page = async (number: bigint, id: string): Promise<number> => {
      let rows = 0;
      const createdOn = new Date().toISOString().slice(0, 10);
      const range = { afterSeq: -1, mostItems: 10, mostBytes: 1_000 };
      await pages.page(mine, { id, number, createdOn, isStopped: false }, range, () => (rows += 1));
      return rows;
    };
    expect(await page(-1n, mine.batchId)).toBe(1);
    expect(await page(-2n, theirs.batchId)).toBe(0);
    expect(await page(-2n, mine.batchId)).toBe(0);
  });
});

describe('an id of another tenant', () => {
  it('costs as many questions as one that nobody has', async () => {
    const [ledger, outbox] = [new LedgerRepository(database), new OutboxRepository(database)];
    const endings = new BatchEndingsRepository(database, ledger, outbox, announcementsOf(database));
    const removal = new BatchRemovalRepository(database, outbox);
    const views = new BatchViewsRepository(database);
    const videos = new VideoViewsRepository(database);
    const generations = new GenerationsRepository(database);
    const contents = new GenerationContentsRepository(database);
    const lines = new BatchLineViewsRepository(database);
    const today = new Date().toISOString().slice(0, 10);
    const anything = { statuses: null, createdAfter: null, createdBefore: null };
    const foreign = (table: string): string => (JSON.parse(theirs.rows.get(table)!) as { id: string }).id;
    const questions: readonly [id: string, ask: (id: string) => Promise<unknown>][] = [
      [theirs.batchId, (id) => views.findForWorkspace(id, mine)],
      [theirs.batchId, (id) => views.listForWorkspace(mine, anything, id, 10)],
      [theirs.batchId, (id) => endings.cancel(id, mine)],
      [theirs.batchId, (id) => removal.remove(id, mine, true)],
      [foreign('videos'), (id) => videos.findForWorkspace(id, mine)],
      [foreign('generations'), (id) => generations.find(id, today, mine)],
      [foreign('generations'), (id) => contents.find(id, today, mine)],
      [theirs.batchId, (id) => lines.find(id, { wholeStem: id.slice(0, -6), index: 0 }, mine, 1_000)],
    ];
    for (const [foreign, ask] of questions) {
      const unknown = `${foreign.slice(0, -12)}000000000000`;
      const answers = await answersToForeign(database, ask, { foreign, unknown });
      expect(answers.foreign).toEqual(answers.unknown);
    }
  });
});
