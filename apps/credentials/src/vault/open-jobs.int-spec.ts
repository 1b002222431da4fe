import { randomUUID } from 'node:crypto';
import type { Database } from '@libs/persistence';
import { openTestDatabase, storeBatch, storeVideo, type OpenTestDatabase } from '@libs/persistence/testing';
import { OpenJobsRepository } from './open-jobs.repository';

const KEY_HASH = 'a'.repeat(64);
const OTHER_HASH = 'b'.repeat(64);

describe(OpenJobsRepository.name, () => {
  let opened: OpenTestDatabase;
  let database: Database;
  let jobs: OpenJobsRepository;

  beforeAll(async () => {
    opened = await openTestDatabase();
    database = opened.database;
    jobs = new OpenJobsRepository(database);
  });

  afterAll(() => opened?.close());

  const change = (table: string, set: string, id: string): Promise<number> =>
    database.execute({ sql: `UPDATE ${table} SET ${set} WHERE id = $1`, values: [id] });

  it('knows a batch of the API key until it is over, and again while it is to be deleted at its provider', async () => {
    const { id } = await storeBatch(database, 4, '1', { apiKeyHash: KEY_HASH });
    const owner = (await database.firstRow<{ organizationId: string; workspaceId: string }>({
      sql: `SELECT organization_id AS "organizationId", workspace_id AS "workspaceId" FROM batches WHERE id = $1`,
      values: [id],
    }))!;
    const of = { ...owner, id: randomUUID(), apiKeyHash: KEY_HASH };
    expect(await jobs.hasBatch(of)).toBe(true);
    for (const other of [{ apiKeyHash: OTHER_HASH }, { apiKeyHash: null }, { workspaceId: randomUUID() }]) {
      expect(await jobs.hasBatch({ ...of, ...other })).toBe(false);
    }
    await change('batches', `status = 'failed', finalized_at = now(), completed = 0, failed = 4`, id);
    expect(await jobs.hasBatch(of)).toBe(false);
    await change('batches', `upstream_deletion = 'due'`, id);
    expect(await jobs.hasBatch(of)).toBe(false);
    await change('batches', `upstream_deletion = 'requested'`, id);
    expect(await jobs.hasBatch(of)).toBe(true);
    await change('batches', `deleted_at = now()`, id);
    expect(await jobs.hasBatch(of)).toBe(false);
    await change('batches', `deleted_at = NULL, upstream_requested_at = now() - interval '25 hours'`, id);
    expect(await jobs.hasBatch(of)).toBe(false);
    await change('batches', `upstream_requested_at = now()`, id);
    expect(await jobs.hasBatch(of)).toBe(true);
  });

  it('knows a video of the API key that is made with the credential, until it is over', async () => {
    const credentialId = randomUUID();
    const { id, organizationId, workspaceId } = await storeVideo(database, { credentialId, apiKeyHash: KEY_HASH });
    const of = { organizationId, workspaceId, id: credentialId, apiKeyHash: KEY_HASH };
    expect(await jobs.hasVideo(of)).toBe(true);
    for (const other of [{ apiKeyHash: OTHER_HASH }, { id: randomUUID() }, { organizationId: randomUUID() }]) {
      expect(await jobs.hasVideo({ ...of, ...other })).toBe(false);
    }
    await change('videos', `status = 'failed', finished_at = now(), request = NULL`, id);
    expect(await jobs.hasVideo(of)).toBe(false);
  });
});
