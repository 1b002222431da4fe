import { randomBytes, randomUUID } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { MOST_MEMBERS } from '@libs/contracts';
import { createDataSource, Database } from '@libs/persistence';
import { atOnce, createTestDatabase, type TestDatabase } from '@libs/persistence/testing';
import { ApiKeyEntity } from '../accounts/api-key.entity';
import { KeysRepository } from '../keys/keys.repository';
import { KeysService } from '../keys/keys.service';
import { OrganizationEntity } from '../accounts/organization.entity';
import { OrganizationsRepository } from '../organizations/organizations.repository';
import { BudgetsRepository } from './budgets.repository';
import { BudgetsService } from './budgets.service';
import { MembersRepository } from './members.repository';
import { MembersService } from './members.service';
import { WorkspaceBudgetEntity } from './workspace-budget.entity';
import { WorkspaceMemberEntity } from './workspace-member.entity';
import { WorkspaceEntity } from '../accounts/workspace.entity';
import { WorkspacesRepository } from './workspaces.repository';
import { WorkspacesService } from './workspaces.service';

const ENTITIES = [ApiKeyEntity, OrganizationEntity, WorkspaceEntity, WorkspaceBudgetEntity, WorkspaceMemberEntity];

let testDatabase: TestDatabase;
let dataSource: DataSource;
let keys: KeysService;
let workspaces: WorkspacesService;
let budgets: BudgetsService;
let members: MembersService;
let reference: { organizationId: string; id: string };

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  dataSource = await createDataSource({ url: testDatabase.url, entities: ENTITIES }).initialize();
  const database = new Database(dataSource);
  keys = new KeysService(new KeysRepository(database));
  workspaces = new WorkspacesService(new WorkspacesRepository(database));
  budgets = new BudgetsService(new BudgetsRepository(database));
  members = new MembersService(new MembersRepository(database));
});

afterAll(async () => {
  await dataSource?.destroy();
  await testDatabase?.drop();
});

beforeEach(async () => {
  const organization = { id: randomUUID(), name: 'A tenant' };
  const standard = { id: randomUUID(), name: 'Default', slug: 'default' };
  await new OrganizationsRepository(dataSource, new Database(dataSource)).insertOrganization(organization, standard);
  const { id } = await workspaces.create({ organizationId: organization.id, name: 'One', slug: 'one' });
  reference = { organizationId: organization.id, id };
});

async function newKey(creatorUserId: string | null = null): Promise<string> {
  const hash = randomBytes(32).toString('hex');
  const { organizationId, id: workspaceId } = reference;
  await keys.create({ organizationId, workspaceId, hash, kind: 'api', name: 'k', label: 'sk-', creatorUserId });
  return hash;
}

const principal = async (hash: string) => (await keys.verify(hash)).principal;

describe('the settings of a workspace', () => {
  it('last until they are changed, cleared one by one, and reach whoever calls with its keys', async () => {
    const hash = await newKey();
    expect(await principal(hash)).not.toHaveProperty('settings');
    const set = { default_provider_sort: 'price', io_logging_sampling_rate: 0.5, io_logging_api_key_ids: [7] } as const;
    expect((await workspaces.update({ ...reference, settings: { ...set } })).settings).toEqual(set);
    const changed = await workspaces.update({
      ...reference,
      name: 'Two',
      settings: { default_provider_sort: null, default_text_model: 'a/b' },
    });
    const left = { io_logging_sampling_rate: 0.5, io_logging_api_key_ids: [7], default_text_model: 'a/b' };
    expect(changed).toMatchObject({ name: 'Two', settings: left });
    expect((await workspaces.update({ ...reference, description: 'd' })).settings).toEqual(left);
    expect((await principal(hash))?.settings).toEqual(left);
    const nothing = { io_logging_sampling_rate: null, io_logging_api_key_ids: null, default_text_model: null };
    expect((await workspaces.update({ ...reference, settings: nothing })).settings).toEqual({});
    expect(await principal(hash)).not.toHaveProperty('settings');
  });

  it('all last that are changed at once', async () => {
    const changes = [
      { default_text_model: 'a/b' },
      { default_image_model: 'c/d' },
      { default_provider_sort: 'latency' as const },
      { is_observability_broadcast_enabled: true },
    ];
    await atOnce(changes.length, (index) => workspaces.update({ ...reference, settings: changes[index]! }));
    expect((await workspaces.get(reference)).settings).toEqual(Object.assign({}, ...changes));
  });

  it('may be given with the workspace', async () => {
    const { organizationId } = reference;
    const settings = { default_provider_sort: 'exacto', default_text_model: null } as const;
    const created = await workspaces.create({ organizationId, name: 'N', slug: 'n', settings: { ...settings } });
    expect(created.settings).toEqual({ default_provider_sort: 'exacto' });
  });
});

describe('the budgets of a workspace', () => {
  it('reach whoever calls with its keys, and nobody once they are deleted', async () => {
    const hash = await newKey();
    expect(await principal(hash)).not.toHaveProperty('budgets');
    const { budget } = await budgets.put({ ...reference, interval: 'daily', limitUsd: '1.5' });
    await budgets.put({ ...reference, interval: 'lifetime', limitUsd: '200', includeByok: true });
    expect((await principal(hash))?.budgets).toEqual([
      { amountUsd: '1.5', reset: 'daily', includesByok: true },
      { amountUsd: '200', reset: null, includesByok: true },
    ]);
    const changed = await budgets.put({ ...reference, interval: 'daily', limitUsd: '2' });
    expect(changed).toMatchObject({ budget: { id: budget.id, limitUsd: '2' }, includeByok: true });
    expect(await budgets.list(reference)).toMatchObject({
      budgets: [{ interval: 'daily' }, { interval: 'lifetime' }],
      includeByok: true,
    });
    for (const interval of ['daily', 'lifetime'] as const) await budgets.delete({ ...reference, interval });
    await expect(budgets.delete({ ...reference, interval: 'daily' })).rejects.toMatchObject({ code: 'not_found' });
    expect(await principal(hash)).not.toHaveProperty('budgets');
    expect((await workspaces.get(reference)).includeByokInBudgets).toBe(true);
  });

  it('are smaller the shorter their interval is, also when they are put at once', async () => {
    const outOfLine = { code: 'invalid_request', metadata: { param: 'limit_usd' } };
    await budgets.put({ ...reference, interval: 'weekly', limitUsd: '10' });
    for (const wrong of [
      { interval: 'daily', limitUsd: '10' },
      { interval: 'monthly', limitUsd: '9.999999999999' },
      { interval: 'lifetime', limitUsd: '10' },
    ] as const) {
      await expect(budgets.put({ ...reference, ...wrong })).rejects.toMatchObject(outOfLine);
    }
    await budgets.put({ ...reference, interval: 'weekly', limitUsd: '20' });
    const both = [
      { interval: 'daily', limitUsd: '5' },
      { interval: 'monthly', limitUsd: '4' },
    ] as const;
    await budgets.delete({ ...reference, interval: 'weekly' });
    const outcomes = await atOnce(2, (index) =>
      budgets.put({ ...reference, ...both[index]! }).then(
        () => 'put',
        ({ code }: { code: string }) => code,
      ),
    );
    expect(outcomes.toSorted()).toEqual(['invalid_request', 'put']);
  });
});

describe('the members of a workspace', () => {
  it('are added once, listed page by page and removed', async () => {
    const first = await members.add({ ...reference, userIds: ['user_b', 'user_a', 'user_b'] });
    expect(first).toMatchObject({ members: [{ userId: 'user_b' }, { userId: 'user_a' }], addedCount: 2 });
    const second = await members.add({ ...reference, userIds: ['user_a', 'user_c'] });
    expect(second).toMatchObject({ members: [first.members[1], { userId: 'user_c' }], addedCount: 1 });
    expect(await members.list({ ...reference, offset: 2, limit: 1 })).toMatchObject({
      members: [{ userId: 'user_c' }],
      totalCount: 3,
    });
    expect(await members.remove({ ...reference, userIds: ['user_a', 'user_x'] })).toEqual({ removedCount: 1 });
    expect((await members.list({ ...reference, offset: 0, limit: 100 })).totalCount).toBe(2);
  });

  it('are never more than there may be, however many come at once', async () => {
    const hundred = (index: number): string[] => Array.from({ length: 100 }, (_, user) => `user_${index}_${user}`);
    const outcomes = await atOnce(MOST_MEMBERS / 100 + 3, (index) =>
      members.add({ ...reference, userIds: hundred(index) }).then(
        () => 'added',
        ({ metadata }: { metadata: object }) => metadata,
      ),
    );
    expect(outcomes.filter((outcome) => outcome !== 'added')).toEqual(Array(3).fill({ param: 'user_ids' }));
    expect((await members.list({ ...reference, offset: 0, limit: 1 })).totalCount).toBe(MOST_MEMBERS);
  });

  it('stay while keys of theirs are in the workspace, with everybody who was named beside them', async () => {
    await members.add({ ...reference, userIds: ['user_a', 'user_b'] });
    const hash = await newKey('user_a');
    const removal = { ...reference, userIds: ['user_b', 'user_a'] };
    await expect(members.remove(removal)).rejects.toMatchObject({ code: 'invalid_request' });
    await keys.delete({ organizationId: reference.organizationId, hash });
    expect(await members.remove(removal)).toEqual({ removedCount: 2 });
  });
});

it('a workspace takes its budgets and members with it', async () => {
  await budgets.put({ ...reference, interval: 'daily', limitUsd: '1' });
  await members.add({ ...reference, userIds: ['user_a'] });
  await workspaces.delete(reference);
  await expect(budgets.list(reference)).rejects.toMatchObject({ code: 'not_found' });
  for (const entity of [WorkspaceBudgetEntity, WorkspaceMemberEntity]) {
    expect(await dataSource.manager.countBy(entity, { workspaceId: reference.id })).toBe(0);
  }
});
