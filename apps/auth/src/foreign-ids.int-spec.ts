import { randomUUID } from 'node:crypto';
import { answersToForeign, openTwoTenants, type TwoTenants } from '@libs/persistence/testing';
import { ApiKeyEntity } from './accounts/api-key.entity';
import { KeysRepository } from './keys/keys.repository';
import { OrganizationEntity } from './accounts/organization.entity';
import { FederationPolicyEntity } from './workload-identity/federation-policy.entity';
import { IdentityIssuerEntity } from './workload-identity/identity-issuer.entity';
import { IssuersRepository } from './workload-identity/issuers.repository';
import { PoliciesRepository } from './workload-identity/policies.repository';
import { BudgetsRepository } from './workspaces/budgets.repository';
import { MembersRepository } from './workspaces/members.repository';
import { WorkspaceBudgetEntity } from './workspaces/workspace-budget.entity';
import { WorkspaceMemberEntity } from './workspaces/workspace-member.entity';
import { WorkspaceEntity } from './accounts/workspace.entity';
import { WorkspacesRepository } from './workspaces/workspaces.repository';

const ENTITIES = [ApiKeyEntity, WorkspaceEntity, IdentityIssuerEntity, FederationPolicyEntity];
const OF_WORKSPACES = [WorkspaceBudgetEntity, WorkspaceMemberEntity];

let tenants: TwoTenants;

beforeAll(async () => {
  tenants = await openTwoTenants([...ENTITIES, ...OF_WORKSPACES, OrganizationEntity]);
});

afterAll(() => tenants?.close());

const ofTheirs = (table: string, column: 'id' | 'hash'): string =>
  (JSON.parse(tenants.theirs.rows.get(table)!) as Record<typeof column, string>)[column];

describe('an id of another organization', () => {
  it('is answered like one that nobody has, after as many questions', async () => {
    const { database, mine, theirs } = tenants;
    const { organizationId } = mine;
    const keys = new KeysRepository(database);
    const workspaces = new WorkspacesRepository(database);
    const budgets = new BudgetsRepository(database);
    const members = new MembersRepository(database);
    const issuers = new IssuersRepository(database);
    const policies = new PoliciesRepository(database);
    const cases: readonly (readonly [id: string, unknown: string, ask: (id: string) => Promise<unknown>])[] = [
      ...[
        (hash: string) => keys.getKey({ organizationId, hash }),
        (hash: string) => keys.updateKey({ organizationId, hash }, { name: 'taken' }),
        (hash: string) => keys.deleteKey({ organizationId, hash }),
        (hash: string) => keys.isApiKeyOf(organizationId, hash),
      ].map((ask) => [ofTheirs('api_keys', 'hash'), 'f'.repeat(64), ask] as const),
      ...[
        (id: string) => workspaces.getWorkspace({ organizationId, id }),
        (id: string) => workspaces.updateWorkspace({ organizationId, id }, { name: 'taken' }),
        (id: string) => workspaces.deleteWorkspace({ organizationId, id }),
        (id: string) => budgets.findBudgets({ organizationId, id }),
        (id: string) => budgets.putBudget({ organizationId, id, interval: 'daily', limitUsd: '9' }, randomUUID()),
        (id: string) => budgets.deleteBudget({ organizationId, id, interval: 'daily' }),
        (id: string) => members.findMembers({ organizationId, id, offset: 0, limit: 9 }),
        (id: string) => members.addMembers({ organizationId, id, userIds: ['user_1'] }),
        (id: string) => members.removeMembers({ organizationId, id, userIds: ['user_1'] }),
      ].map((ask) => [theirs.workspaceId, randomUUID(), ask] as const),
      ...[
        (id: string) => issuers.getIssuer({ organizationId, id }),
        (id: string) => issuers.updateIssuer({ organizationId, id }, { name: 'taken' }),
        (id: string) => issuers.deleteIssuer({ organizationId, id }),
      ].map((ask) => [ofTheirs('identity_issuers', 'id'), randomUUID(), ask] as const),
      ...[
        (id: string) => policies.getPolicy({ organizationId, id }),
        (id: string) => policies.updatePolicy({ organizationId, id }, { name: 'taken' }),
        (id: string) => policies.deletePolicy({ organizationId, id }),
      ].map((ask) => [ofTheirs('federation_policies', 'id'), randomUUID(), ask] as const),
    ];
    for (const [foreign, unknown, ask] of cases) {
      const answers = await answersToForeign(database, ask, { foreign, unknown });
      expect(answers.foreign).toEqual(answers.unknown);
    }
  });
});

describe('a repository that forgets to ask whose a row is', () => {
  it.each(ENTITIES)('finds the rows of its organization alone: %p', async (entity) => {
    const { database, dataSource, mine } = tenants;
    const tenant = database.asOrganization(mine);
    const own = await tenant.entities((manager) => manager.find(entity));
    expect(own.map(({ createdAt: _when, ...row }) => 'organizationId' in row && row.organizationId)).toEqual([
      mine.organizationId,
    ]);
    expect(await dataSource.manager.count(entity)).toBe(2);
    const change = { name: 'changed' };
    const changed = await tenant.entities((manager) =>
      manager.createQueryBuilder().update(entity).set(change).execute(),
    );
    expect(changed.affected).toBe(1);
  });

  it.each(OF_WORKSPACES)('and so with what belongs to its workspaces: %p', async (entity) => {
    const { database, dataSource, mine } = tenants;
    const found = await database.asOrganization(mine).entities((manager) => manager.find(entity));
    expect(found.map(({ workspaceId }) => workspaceId)).toEqual([mine.workspaceId]);
    expect(await dataSource.manager.count(entity)).toBe(2);
  });
});
