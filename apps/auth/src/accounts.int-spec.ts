import { randomBytes, randomUUID } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { createDataSource, Database } from '@libs/persistence';
import { createTestDatabase, type TestDatabase } from '@libs/persistence/testing';
import { ApiKeyEntity } from './accounts/api-key.entity';
import { KeysRepository, type NewKey } from './keys/keys.repository';
import { OrganizationEntity } from './accounts/organization.entity';
import { OrganizationsRepository } from './organizations/organizations.repository';
import { WorkspaceBudgetEntity } from './workspaces/workspace-budget.entity';
import { WorkspaceMemberEntity } from './workspaces/workspace-member.entity';
import { WorkspaceEntity } from './accounts/workspace.entity';
import { WorkspacesRepository } from './workspaces/workspaces.repository';

const UNKNOWN_ID = '4b6c3a52-5a3f-4c1b-8a55-2f9f5a1c0000';

let testDatabase: TestDatabase;
let dataSource: DataSource;
let keys: KeysRepository;
let workspaces: WorkspacesRepository;
let organizations: OrganizationsRepository;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  dataSource = createDataSource({
    url: testDatabase.url,
    entities: [ApiKeyEntity, OrganizationEntity, WorkspaceEntity, WorkspaceBudgetEntity, WorkspaceMemberEntity],
  });
  await dataSource.initialize();
  const database = new Database(dataSource);
  keys = new KeysRepository(database);
  workspaces = new WorkspacesRepository(database);
  organizations = new OrganizationsRepository(dataSource, new Database(dataSource));
});

afterAll(async () => {
  await dataSource?.destroy();
  await testDatabase?.drop();
});

interface Tenant {
  readonly organizationId: string;
  readonly workspaceId: string;
}

async function newTenant(): Promise<Tenant> {
  const workspaceId = randomUUID();
  const organization = { id: randomUUID(), name: 'A tenant' };
  await organizations.insertOrganization(organization, { id: workspaceId, name: 'Default', slug: 'default' });
  return { organizationId: organization.id, workspaceId };
}

function newKey(tenant: Tenant, values: Partial<NewKey> = {}): NewKey {
  return {
    hash: randomBytes(32).toString('hex'),
    id: randomUUID(),
    organizationId: tenant.organizationId,
    workspaceId: null,
    kind: 'api',
    name: 'a key',
    label: 'sk-sluice-v1-abc...xyz',
    limitUsd: null,
    limitReset: null,
    includeByokInLimit: false,
    expiresAt: null,
    creatorUserId: null,
    ...values,
  };
}

function list(tenant: Tenant, values: object = {}): Promise<{ keys: ApiKeyEntity[]; totalCount: number }> {
  return keys.findKeys({
    organizationId: tenant.organizationId,
    includeDisabled: true,
    offset: 0,
    limit: 100,
    ...values,
  });
}

/** What the operation answers, with nothing of the ids in it. */
async function outcomeOf(operation: Promise<unknown>): Promise<string> {
  return operation.then(
    () => 'done',
    (error: { code?: string; message: string }) => `${error.code}: ${error.message}`,
  );
}

describe('the tables of the auth app', () => {
  it('are what the entities say', async () => {
    const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
    const drift = upQueries.map(({ query }) => query).filter((query) => /organizations|workspace|api_keys/.test(query));
    expect(drift).toEqual([]);
  });
});

describe(KeysRepository.name, () => {
  let tenant: Tenant;

  beforeEach(async () => {
    tenant = await newTenant();
  });

  it('finds a usable key with everything a principal needs', async () => {
    const expiresAt = new Date(Date.now() + 60_000);
    const key = newKey(tenant, {
      limitUsd: '10.000000000001',
      limitReset: 'daily',
      includeByokInLimit: true,
      expiresAt,
      creatorUserId: 'ada',
      policy: { zdr: true },
    });
    await keys.insertKey(key);
    const workspace = { organizationId: tenant.organizationId, id: tenant.workspaceId };
    const defaultCallbackUrl = 'https://receiver.example/';
    await workspaces.updateWorkspace(workspace, { policy: { allowed_data_regions: ['europe'] }, defaultCallbackUrl });
    expect(await keys.findUsableKey(key.hash)).toEqual({
      hash: key.hash,
      id: key.id,
      kind: 'api',
      organizationId: tenant.organizationId,
      workspaceId: tenant.workspaceId,
      name: 'a key',
      limitUsd: '10.000000000001',
      limitReset: 'daily',
      includeByokInLimit: true,
      expiresAt,
      creatorUserId: 'ada',
      policy: { zdr: true },
      workspacePolicy: { allowed_data_regions: ['europe'] },
      defaultCallbackUrl,
      settings: null,
      budgets: null,
      includeByokInBudgets: false,
    });
    await workspaces.updateWorkspace(workspace, { policy: null });
    await keys.updateKey(key, { policy: null });
    expect(await keys.findUsableKey(key.hash)).toMatchObject({ policy: null, workspacePolicy: null });
  });

  it('finds no unknown, disabled, expired or deleted key', async () => {
    expect(await keys.findUsableKey('0'.repeat(64))).toBeNull();
    const disabled = newKey(tenant);
    await keys.insertKey(disabled);
    await keys.updateKey(disabled, { disabled: true });
    expect(await keys.findUsableKey(disabled.hash)).toBeNull();
    await keys.updateKey(disabled, { disabled: false });
    expect(await keys.findUsableKey(disabled.hash)).toMatchObject({ id: disabled.id });

    const expired = newKey(tenant, { expiresAt: new Date(Date.now() - 1_000) });
    await keys.insertKey(expired);
    expect(await keys.findUsableKey(expired.hash)).toBeNull();

    const deleted = newKey(tenant);
    await keys.insertKey(deleted);
    await keys.deleteKey(deleted);
    expect(await keys.findUsableKey(deleted.hash)).toBeNull();
  });

  it('never lets the hash of a deleted key work again', async () => {
    const key = newKey(tenant);
    await keys.insertKey(key);
    await keys.deleteKey(key);
    expect(await outcomeOf(keys.insertKey({ ...key, id: randomUUID() }))).toBe('conflict: This key was created before');
    expect(await outcomeOf(keys.updateKey(key, { disabled: false }))).toBe('not_found: No such key');
    expect(await outcomeOf(keys.deleteKey(key))).toBe('not_found: No such key');
    expect(await keys.findUsableKey(key.hash)).toBeNull();
  });

  it('puts a key without a workspace into the default one, and a management key into none', async () => {
    expect(await keys.insertKey(newKey(tenant))).toMatchObject({ workspaceId: tenant.workspaceId });
    expect(await keys.insertKey(newKey(tenant, { kind: 'management' }))).toMatchObject({ workspaceId: null });
  });

  it('refuses a foreign workspace with the words for an unknown one', async () => {
    const other = await newTenant();
    const foreign = await outcomeOf(keys.insertKey(newKey(tenant, { workspaceId: other.workspaceId })));
    const unknown = await outcomeOf(keys.insertKey(newKey(tenant, { workspaceId: UNKNOWN_ID })));
    expect(foreign).toBe('invalid_request: workspace_id names no workspace of the organization');
    expect(unknown).toBe(foreign);
    const homeless = newKey({ organizationId: UNKNOWN_ID, workspaceId: UNKNOWN_ID }, { kind: 'management' });
    expect(await outcomeOf(keys.insertKey(homeless))).toBe('not_found: No such organization');
  });

  it('answers for a foreign key as for an unknown one, whatever is asked, and changes nothing', async () => {
    const other = await newTenant();
    const foreignKey = newKey(other);
    await keys.insertKey(foreignKey);
    const before = await keys.getKey(foreignKey);
    for (const hash of [foreignKey.hash, '0'.repeat(64)]) {
      const reference = { organizationId: tenant.organizationId, hash };
      expect(await outcomeOf(keys.getKey(reference))).toBe('not_found: No such key');
      expect(await outcomeOf(keys.updateKey(reference, { disabled: true }))).toBe('not_found: No such key');
      expect(await outcomeOf(keys.deleteKey(reference))).toBe('not_found: No such key');
    }
    expect(await list(tenant)).toEqual({ keys: [], totalCount: 0 });
    expect(await list(tenant, { workspaceId: other.workspaceId })).toEqual({ keys: [], totalCount: 0 });
    expect(await keys.getKey(foreignKey)).toEqual(before);
  });

  it('answers for a key of the other kind as for an unknown one, when a kind is asked for', async () => {
    const management = newKey(tenant, { kind: 'management' });
    await keys.insertKey(management);
    const reference = { organizationId: tenant.organizationId, hash: management.hash, kind: 'api' as const };
    expect(await outcomeOf(keys.getKey(reference))).toBe('not_found: No such key');
    expect(await outcomeOf(keys.deleteKey(reference))).toBe('not_found: No such key');
    expect(await list(tenant, { kind: 'api' })).toMatchObject({ totalCount: 0 });
    expect(await keys.findUsableKey(management.hash)).toMatchObject({ kind: 'management' });
  });

  it('changes only the members it is given', async () => {
    const key = newKey(tenant, { limitUsd: '5', limitReset: 'weekly', creatorUserId: 'ada' });
    await keys.insertKey(key);
    const renamed = await keys.updateKey(key, { name: 'renamed' });
    expect(renamed).toMatchObject({ name: 'renamed', limitReset: 'weekly', creatorUserId: 'ada', disabled: false });
    expect(renamed.updatedAt).toBeInstanceOf(Date);
    expect(await keys.updateKey(key, { limitUsd: null, limitReset: null })).toMatchObject({
      name: 'renamed',
      limitUsd: null,
      limitReset: null,
    });
  });

  it('refuses a limit on a management key', async () => {
    const key = newKey(tenant, { kind: 'management' });
    await keys.insertKey(key);
    expect(await outcomeOf(keys.updateKey(key, { limitUsd: '1' }))).toBe(
      'invalid_request: A management key has no limit: limit and limit_reset must be null',
    );
  });

  it('lists newest first, page by page, with the count of all', async () => {
    const made = [newKey(tenant), newKey(tenant), newKey(tenant)];
    for (const key of made) await keys.insertKey(key);
    await keys.updateKey(made[1] as NewKey, { disabled: true });
    const hashes = made.map(({ hash }) => hash).toReversed();
    expect((await list(tenant)).keys.map(({ hash }) => hash)).toEqual(hashes);
    const second = await list(tenant, { offset: 1, limit: 1 });
    expect(second).toMatchObject({ keys: [{ hash: hashes[1] }], totalCount: 3 });
    expect(await list(tenant, { includeDisabled: false })).toMatchObject({ totalCount: 2 });
  });

  it.each([
    ['a hash that is none', { hash: 'z'.repeat(64) }],
    ['an upper-case hash', { hash: 'A'.repeat(64) }],
    ['an unknown kind', { kind: 'root' }],
    ['an API key without a workspace', { workspaceId: null }],
    ['a management key with a workspace', { kind: 'management' }],
    ['a management key with a limit', { kind: 'management', workspaceId: null, limitUsd: '1' }],
    ['an empty name', { name: '' }],
    ['a negative limit', { limitUsd: '-0.000000000001' }],
    ['an unknown reset', { limitReset: 'hourly' }],
    ['an unknown organization', { organizationId: UNKNOWN_ID }],
  ])('has a database that itself refuses %s', async (_what, values) => {
    const row = { ...newKey(tenant), workspaceId: tenant.workspaceId, ...values } as unknown as ApiKeyEntity;
    await expect(dataSource.manager.insert(ApiKeyEntity, row)).rejects.toThrow(/violates/);
  });

  it("has a database that itself refuses a key in another organization's workspace", async () => {
    const other = await newTenant();
    const row = { ...newKey(tenant), workspaceId: other.workspaceId };
    await expect(dataSource.manager.insert(ApiKeyEntity, row)).rejects.toThrow(/api_keys_workspace/);
  });
});

describe(WorkspacesRepository.name, () => {
  let tenant: Tenant;

  beforeEach(async () => {
    tenant = await newTenant();
  });

  function newWorkspace(slug: string): {
    id: string;
    organizationId: string;
    name: string;
    slug: string;
    description: null;
  } {
    return { id: randomUUID(), organizationId: tenant.organizationId, name: slug, slug, description: null };
  }

  it('keeps slugs apart within an organization only, and frees those of deleted workspaces', async () => {
    const workspace = await workspaces.insertWorkspace(newWorkspace('research'));
    const taken = 'invalid_request: slug is used by another workspace';
    expect(await outcomeOf(workspaces.insertWorkspace(newWorkspace('research')))).toBe(taken);
    expect(await outcomeOf(workspaces.updateWorkspace(workspace, { slug: 'default' }))).toBe(taken);
    const other = await newTenant();
    await workspaces.insertWorkspace({ ...newWorkspace('research'), organizationId: other.organizationId });
    await workspaces.deleteWorkspace(workspace);
    expect(await workspaces.insertWorkspace(newWorkspace('research'))).toMatchObject({ slug: 'research' });
  });

  it('refuses a workspace of no organization', async () => {
    const workspace = { ...newWorkspace('lost'), organizationId: UNKNOWN_ID };
    expect(await outcomeOf(workspaces.insertWorkspace(workspace))).toBe('not_found: No such organization');
  });

  it('answers for a foreign workspace as for an unknown one, whatever is asked, and changes nothing', async () => {
    const other = await newTenant();
    for (const id of [other.workspaceId, UNKNOWN_ID]) {
      const reference = { organizationId: tenant.organizationId, id };
      expect(await outcomeOf(workspaces.getWorkspace(reference))).toBe('not_found: No such workspace');
      expect(await outcomeOf(workspaces.updateWorkspace(reference, { name: 'mine' }))).toBe(
        'not_found: No such workspace',
      );
      expect(await outcomeOf(workspaces.deleteWorkspace(reference))).toBe('not_found: No such workspace');
    }
    const listed = await workspaces.findWorkspaces({ organizationId: tenant.organizationId, offset: 0, limit: 10 });
    expect(listed).toMatchObject({ workspaces: [{ id: tenant.workspaceId }], totalCount: 1 });
    expect(
      await workspaces.getWorkspace({ organizationId: other.organizationId, id: other.workspaceId }),
    ).toMatchObject({
      name: 'Default',
    });
  });

  it('does not delete the default workspace', async () => {
    const reference = { organizationId: tenant.organizationId, id: tenant.workspaceId };
    expect(await outcomeOf(workspaces.deleteWorkspace(reference))).toBe(
      'invalid_request: The default workspace cannot be deleted',
    );
  });

  it('deletes a workspace once its keys are deleted', async () => {
    const workspace = await workspaces.insertWorkspace(newWorkspace('research'));
    const key = newKey(tenant, { workspaceId: workspace.id });
    await keys.insertKey(key);
    await keys.updateKey(key, { disabled: true });
    expect(await outcomeOf(workspaces.deleteWorkspace(workspace))).toBe(
      'invalid_request: The workspace still has keys: delete them first',
    );
    await keys.deleteKey(key);
    expect(await outcomeOf(workspaces.deleteWorkspace(workspace))).toBe('done');
    expect(await outcomeOf(workspaces.getWorkspace(workspace))).toBe('not_found: No such workspace');
    expect(await outcomeOf(keys.insertKey(newKey(tenant, { workspaceId: workspace.id })))).toBe(
      'invalid_request: workspace_id names no workspace of the organization',
    );
  });

  it('leaves no key in a deleted workspace, however creation and deletion meet', async () => {
    for (let round = 0; round < 25; round += 1) {
      const workspace = await workspaces.insertWorkspace(newWorkspace(`round-${round}`));
      const key = newKey(tenant, { workspaceId: workspace.id });
      const [created, deleted] = await Promise.all([
        outcomeOf(keys.insertKey(key)),
        outcomeOf(workspaces.deleteWorkspace(workspace)),
      ]);
      expect([created, deleted].filter((outcome) => outcome === 'done')).toHaveLength(1);
    }
  });
});

describe(OrganizationsRepository.name, () => {
  it('lists organizations with their default workspaces, page by page', async () => {
    const [first, second] = [await newTenant(), await newTenant()];
    const { totalCount } = await organizations.findOrganizations(0, 1);
    const page = await organizations.findOrganizations(totalCount - 2, 2);
    expect(page.organizations.map(({ id }) => id)).toEqual([first.organizationId, second.organizationId]);
    expect(new Set(page.defaultWorkspaces.map(({ id }) => id))).toEqual(
      new Set([first.workspaceId, second.workspaceId]),
    );
  });

  it('makes no organization when its default workspace cannot be made', async () => {
    const tenant = await newTenant();
    const organization = { id: randomUUID(), name: 'half' };
    const workspace = { id: tenant.workspaceId, name: 'Default', slug: 'default' };
    await expect(organizations.insertOrganization(organization, workspace)).rejects.toThrow(/workspaces_pkey/);
    expect(await dataSource.manager.existsBy(OrganizationEntity, { id: organization.id })).toBe(false);
  });

  it('has a database that itself refuses a second default workspace, and the deletion of the first', async () => {
    const tenant = await newTenant();
    const second = { id: randomUUID(), organizationId: tenant.organizationId, name: 'x', slug: 'x', isDefault: true };
    await expect(dataSource.manager.insert(WorkspaceEntity, second)).rejects.toThrow(/workspaces_one_default/);
    const deletion = dataSource.manager.update(WorkspaceEntity, { id: tenant.workspaceId }, { deletedAt: new Date() });
    await expect(deletion).rejects.toThrow(/workspaces_default_is_kept/);
  });
});
