import type { KeyChanges } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { ApiKeyEntity } from '../accounts/api-key.entity';
import type { KeysRepository, NewKey, UsableKey } from './keys.repository';
import { KeysService } from './keys.service';

const ORGANIZATION = '7c1f9c1e-0000-4000-8000-000000000001';
const HASH = 'ab'.repeat(32);

class FakeRepository implements Pick<KeysRepository, 'findUsableKey' | 'insertKey' | 'getKey' | 'updateKey'> {
  usable: UsableKey | null = null;
  inserted: NewKey | null = null;
  changes: KeyChanges | null = null;

  async findUsableKey(): Promise<UsableKey | null> {
    return this.usable;
  }

  async insertKey(key: NewKey): Promise<ApiKeyEntity> {
    this.inserted = key;
    return entity({ ...key, workspaceId: key.workspaceId ?? 'default workspace' });
  }

  async getKey(): Promise<ApiKeyEntity> {
    return entity({});
  }

  async updateKey(_reference: object, changes: KeyChanges): Promise<ApiKeyEntity> {
    this.changes = changes;
    return entity(changes);
  }
}

function entity(values: Partial<ApiKeyEntity>): ApiKeyEntity {
  return {
    hash: HASH,
    id: 'id',
    organizationId: ORGANIZATION,
    workspaceId: 'workspace',
    kind: 'api',
    name: 'name',
    label: 'label',
    limitUsd: null,
    limitReset: null,
    includeByokInLimit: false,
    disabled: false,
    expiresAt: null,
    creatorUserId: null,
    policy: null,
    createdAt: new Date('2026-01-02T03:04:05Z'),
    updatedAt: null,
    deletedAt: null,
    secretHash: null,
    previousSecretHash: null,
    previousSecretUntil: null,
    rotationId: null,
    ...values,
  };
}

/** The workspace fields of a key whose workspace has nothing set. */
const UNSET = {
  workspacePolicy: null,
  defaultCallbackUrl: null,
  settings: null,
  budgets: null,
  includeByokInBudgets: false,
};

describe(KeysService.name, () => {
  let repository: FakeRepository;
  let service: KeysService;

  beforeEach(() => {
    repository = new FakeRepository();
    service = new KeysService(repository as unknown as KeysRepository);
  });

  const request = { organizationId: ORGANIZATION, kind: 'api', hash: HASH, label: 'label', name: 'name' } as const;

  it('answers for an unusable key with nobody', async () => {
    expect(await service.verify(HASH)).toEqual({ principal: null });
  });

  it.each([
    ['10.000000000000', '10'],
    ['10.500000000000', '10.5'],
    ['0.000000000001', '0.000000000001'],
    ['0.000000000000', '0'],
    ['100', '100'],
    [null, null],
  ])('answers for a usable key with its principal, a limit of %s as %s', async (stored, limitUsd) => {
    const expiresAt = new Date('2030-01-01T00:00:00Z');
    repository.usable = { ...entity({ limitUsd: stored, expiresAt }), ...UNSET };
    expect(await service.verify(HASH)).toEqual({
      principal: {
        keyHash: HASH,
        keyId: 'id',
        kind: 'api',
        organizationId: ORGANIZATION,
        workspaceId: 'workspace',
        name: 'name',
        limitUsd,
        limitReset: null,
        includeByokInLimit: false,
        expiresAt: '2030-01-01T00:00:00.000Z',
        creatorUserId: null,
      },
    });
  });

  it('answers with the policies of workspace and key, those that there are', async () => {
    const [ours, theirs] = [{ zdr: true }, { allowed_models: ['a/b'] }];
    repository.usable = { ...entity({ policy: theirs }), ...UNSET, workspacePolicy: ours };
    expect((await service.verify(HASH)).principal?.policies).toEqual([
      { owner: 'workspace', policy: ours },
      { owner: 'key', policy: theirs },
    ]);
    repository.usable = { ...entity({ policy: theirs }), ...UNSET };
    expect((await service.verify(HASH)).principal?.policies).toEqual([{ owner: 'key', policy: theirs }]);
  });

  it("answers with the workspace's callback URL where there is one", async () => {
    const defaultCallbackUrl = 'https://receiver.example/';
    repository.usable = { ...entity({}), ...UNSET, defaultCallbackUrl };
    expect((await service.verify(HASH)).principal).toMatchObject({ defaultCallbackUrl });
  });

  it('answers with the settings and the budgets of the workspace, those that there are', async () => {
    const settings = { default_provider_sort: 'price' } as const;
    const budgets = [
      { amountUsd: '5', interval: 'daily' },
      { amountUsd: '90.5', interval: 'lifetime' },
    ] as const;
    repository.usable = { ...entity({}), ...UNSET, settings, budgets, includeByokInBudgets: true };
    expect((await service.verify(HASH)).principal).toMatchObject({
      settings,
      budgets: [
        { amountUsd: '5', reset: 'daily', includesByok: true },
        { amountUsd: '90.5', reset: null, includesByok: true },
      ],
    });
  });

  it('refuses a management key with a policy', async () => {
    const asked = { ...request, kind: 'management' as const, policy: { zdr: true } };
    await expect(service.create(asked)).rejects.toMatchObject({ code: 'invalid_request' });
    expect(repository.inserted).toBeNull();
  });

  it('creates a key with an id of its own and nothing but what was asked for', async () => {
    const asked = { ...request, disabled: true, id: 'chosen', createdAt: 'x', workspaceId: null };
    const record = await service.create(asked);
    expect(record).toMatchObject({ hash: HASH, disabled: false, workspaceId: 'default workspace' });
    expect(record.id).toMatch(/^[0-9a-f-]{36}$/);
    expect(repository.inserted).not.toHaveProperty('disabled');
  });

  it('refuses an expiry that is over', async () => {
    const expiresAt = new Date(Date.now() - 1).toISOString();
    await expect(service.create({ ...request, expiresAt })).rejects.toMatchObject({
      code: 'invalid_request',
      message: 'expires_at must be in the future',
      metadata: { param: 'expires_at' },
    });
    expect(repository.inserted).toBeNull();
  });

  it('refuses a management key with a workspace', async () => {
    const asked = { ...request, kind: 'management' as const, workspaceId: ORGANIZATION };
    await expect(service.create(asked)).rejects.toThrow(AppError);
    expect(repository.inserted).toBeNull();
  });

  it('tells taking a limit away from leaving it alone, and lets nobody move a key elsewhere', async () => {
    await service.update({ organizationId: ORGANIZATION, hash: HASH, limitUsd: null, name: undefined });
    expect(repository.changes).toEqual({ limitUsd: null });
    const foreign = { organizationId: ORGANIZATION, hash: HASH, workspaceId: 'other', kind: 'api', id: 'x' } as const;
    await service.update(foreign);
    expect(repository.changes).toEqual({});
  });
});
