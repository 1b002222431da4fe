import { randomBytes, randomUUID } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { createDataSource, Database } from '@libs/persistence';
import { createTestDatabase, type TestDatabase } from '@libs/persistence/testing';
import { OrganizationEntity } from '../accounts/organization.entity';
import { OrganizationsRepository } from '../organizations/organizations.repository';
import { WorkspaceBudgetEntity } from '../workspaces/workspace-budget.entity';
import { WorkspaceEntity } from '../accounts/workspace.entity';
import { ApiKeyEntity } from '../accounts/api-key.entity';
import { KeysRepository } from './keys.repository';
import { KeysService } from './keys.service';

const DAY = 86_400;

let testDatabase: TestDatabase;
let dataSource: DataSource;
let database: Database;
let repository: KeysRepository;
let keys: KeysService;
let organizationId: string;
let first: string;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const entities = [ApiKeyEntity, OrganizationEntity, WorkspaceEntity, WorkspaceBudgetEntity];
  dataSource = await createDataSource({ url: testDatabase.url, entities }).initialize();
  database = new Database(dataSource);
  repository = new KeysRepository(database);
  keys = new KeysService(repository);
});

afterAll(async () => {
  await dataSource?.destroy();
  await testDatabase?.drop();
});

beforeEach(async () => {
  organizationId = randomUUID();
  const workspace = { id: randomUUID(), name: 'Default', slug: 'default' };
  await new OrganizationsRepository(dataSource, database).insertOrganization(
    { id: organizationId, name: 'T' },
    workspace,
  );
  first = newSecret();
  await keys.create({ organizationId, kind: 'api', hash: first, label: 'first', name: 'a key' });
});

const newSecret = (): string => randomBytes(32).toString('hex');

async function rotate(overlapSeconds = DAY, rotationId?: string): Promise<string> {
  const secretHash = newSecret();
  const request = { organizationId, hash: first, kind: 'api', secretHash, label: 'other', overlapSeconds } as const;
  await keys.rotate({ ...request, ...(rotationId !== undefined && { rotationId }) });
  return secretHash;
}

/** Which of these secrets work, by their places. */
async function working(...secrets: string[]): Promise<number[]> {
  const answers = await Promise.all(secrets.map((secret) => keys.verify(secret)));
  return answers.flatMap(({ principal }, index) => (principal === null ? [] : [index]));
}

describe('the rotation of a key', () => {
  it('gives the same key another secret, and lets the old one work for the overlap', async () => {
    const before = await keys.get({ organizationId, hash: first });
    const second = await rotate(60);
    const { principal: byOld } = await keys.verify(first);
    const { principal: byNew } = await keys.verify(second);
    expect(byNew).toMatchObject({ keyHash: first, keyId: before.id, expiresAt: null });
    expect(byOld).toEqual({ ...byNew, expiresAt: expect.any(String) });
    const leftMs = Date.parse(byOld!.expiresAt!) - Date.now();
    expect(leftMs).toBeGreaterThan(0);
    expect(leftMs).toBeLessThanOrEqual(61_000);
    expect(await keys.get({ organizationId, hash: first })).toEqual({
      ...before,
      label: 'other',
      updatedAt: expect.any(String),
      previousSecretUntil: byOld!.expiresAt,
    });
  });

  it('ends the old secret with its overlap, while the record stays usable for its batches and tokens', async () => {
    const second = await rotate(60);
    await database.execute({
      sql: `UPDATE api_keys SET previous_secret_until = now() - interval '1 second' WHERE hash = $1`,
      values: [first],
    });
    expect(await working(first, second)).toEqual([1]);
    expect((await keys.verify(first, 'record')).principal).toMatchObject({ keyHash: first, expiresAt: null });
    expect((await keys.verify(second, 'record')).principal).toBeNull();
    expect(await keys.get({ organizationId, hash: first })).toMatchObject({ previousSecretUntil: null });
  });

  it('without an overlap ends the old secret at once', async () => {
    const second = await rotate(0);
    expect(await working(first, second)).toEqual([1]);
  });

  it('ends the oldest secret where an overlap runs', async () => {
    const second = await rotate();
    const third = await rotate();
    expect(await working(first, second, third)).toEqual([1, 2]);
  });

  it('can be ended early, and once more without effect', async () => {
    const second = await rotate();
    for (let time = 0; time < 2; time += 1) {
      expect(await keys.endRotation({ organizationId, hash: first })).toMatchObject({ previousSecretUntil: null });
      expect(await working(first, second)).toEqual([1]);
    }
  });

  it('leaves at most two secrets, however many run at the same time', async () => {
    const secrets = await Promise.all(Array.from({ length: 8 }, () => rotate()));
    expect(await working(first)).toEqual([]);
    expect(await working(...secrets)).toHaveLength(2);
  });

  it('that is tried again replaces its own secret and keeps the one before it', async () => {
    const rotationId = randomUUID();
    const lost = await rotate(DAY, rotationId);
    const second = await rotate(DAY, rotationId);
    expect(await working(first, lost, second)).toEqual([0, 2]);
    const third = await rotate(DAY, randomUUID());
    expect(await working(first, lost, second, third)).toEqual([2, 3]);
  });

  it.each([
    ['disabled', () => repository.updateKey({ organizationId, hash: first }, { disabled: true })],
    ['deleted', () => repository.deleteKey({ organizationId, hash: first })],
  ])('leaves no secret of a key that is %s', async (_what, end) => {
    const second = await rotate();
    await end();
    expect(await working(first, second)).toEqual([]);
    expect((await keys.verify(first, 'record')).principal).toBeNull();
  });

  it('does not outlive the expiry of the key', async () => {
    const expiresAt = new Date(Date.now() + 30_000).toISOString();
    first = newSecret();
    await keys.create({ organizationId, kind: 'api', hash: first, label: 'first', name: 'a key', expiresAt });
    const second = await rotate();
    const ends = await Promise.all([first, second].map(async (secret) => (await keys.verify(secret)).principal));
    expect(ends).toMatchObject([{ expiresAt }, { expiresAt }]);
  });

  it('is a change in the feed of the key, by the name that batches and gateways know', async () => {
    const revision = async (): Promise<unknown> =>
      database.firstRow({
        sql: `SELECT count(*)::int AS n FROM access_feed_entries WHERE subject = $1`,
        values: [first],
      });
    expect(await revision()).toEqual({ n: 0 });
    await rotate();
    expect(await revision()).toEqual({ n: 1 });
    await keys.endRotation({ organizationId, hash: first });
    expect(await revision()).toEqual({ n: 2 });
  });

  it('of a foreign, unknown, deleted or management key is that of no key', async () => {
    const none = { code: 'not_found', message: 'No such key' };
    const management = newSecret();
    await keys.create({ organizationId, kind: 'management', hash: management, label: 'm', name: 'm' });
    const deleted = newSecret();
    await keys.create({ organizationId, kind: 'api', hash: deleted, label: 'd', name: 'd' });
    await keys.delete({ organizationId, hash: deleted });
    for (const reference of [
      { organizationId: randomUUID(), hash: first },
      { organizationId, hash: newSecret() },
      { organizationId, hash: management, kind: 'api' as const },
      { organizationId, hash: deleted },
    ]) {
      const request = { ...reference, secretHash: newSecret(), label: 'l', overlapSeconds: 1 };
      await expect(keys.rotate(request)).rejects.toMatchObject(none);
      await expect(keys.endRotation(reference)).rejects.toMatchObject(none);
    }
    expect(await working(first, management)).toEqual([0, 1]);
  });

  it('finds a secret by an index', async () => {
    const plan = await database.transaction(async (session) => {
      await session.execute({ sql: 'SET LOCAL enable_seqscan = off' });
      return session.rows<{ 'QUERY PLAN': string }>({
        sql: `EXPLAIN SELECT 1 FROM api_keys k WHERE (k.hash = $1 AND k.secret_hash IS NULL) OR k.secret_hash = $1
              OR (k.previous_secret_hash = $1 AND k.previous_secret_until > now())`,
        values: [first],
      });
    });
    const text = plan.map((row) => row['QUERY PLAN']).join('\n');
    for (const index of ['api_keys_pkey', 'api_keys_by_secret', 'api_keys_by_previous_secret']) {
      expect(text).toContain(index);
    }
  });
});
