import { hash, randomBytes, randomUUID } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { createDataSource, Database } from '@libs/persistence';
import { createTestDatabase, type TestDatabase } from '@libs/persistence/testing';
import { ApiKeyEntity } from '../accounts/api-key.entity';
import { KeysRepository, type NewKey } from '../keys/keys.repository';
import { OrganizationEntity } from '../accounts/organization.entity';
import { OrganizationsRepository } from '../organizations/organizations.repository';
import { WorkspaceEntity } from '../accounts/workspace.entity';
import { FederationPolicyEntity } from './federation-policy.entity';
import { IdentityIssuerEntity } from './identity-issuer.entity';
import { IssuersRepository } from './issuers.repository';
import { PoliciesRepository, type NewPolicy } from './policies.repository';
import { UsedTokenIdsRepository, type TokenUse } from './used-token-ids.repository';

let testDatabase: TestDatabase;
let dataSource: DataSource;
let keys: KeysRepository;
let issuers: IssuersRepository;
let policies: PoliciesRepository;
let usedTokenIds: UsedTokenIdsRepository;

interface Tenant {
  readonly organizationId: string;
  readonly keyHash: string;
  readonly managementKeyHash: string;
  readonly issuerId: string;
}

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  dataSource = createDataSource({
    url: testDatabase.url,
    entities: [ApiKeyEntity, OrganizationEntity, WorkspaceEntity, IdentityIssuerEntity, FederationPolicyEntity],
  });
  await dataSource.initialize();
  const database = new Database(dataSource);
  keys = new KeysRepository(database);
  issuers = new IssuersRepository(database);
  policies = new PoliciesRepository(database);
  usedTokenIds = new UsedTokenIdsRepository(database);
});

afterAll(async () => {
  await dataSource?.destroy();
  await testDatabase?.drop();
});

async function newKey(organizationId: string, kind: NewKey['kind']): Promise<string> {
  const hash = randomBytes(32).toString('hex');
  const limits = { limitUsd: null, limitReset: null, includeByokInLimit: false, expiresAt: null, creatorUserId: null };
  const names = { name: 'a key', label: 'sk-…', workspaceId: null };
  await keys.insertKey({ hash, id: randomUUID(), organizationId, kind, ...names, ...limits });
  return hash;
}

async function newIssuer(organizationId: string): Promise<string> {
  const id = randomUUID();
  await issuers.insertIssuer({ id, organizationId, name: 'CI', issuerUrl: 'https://issuer.example', jwksUrl: null });
  return id;
}

async function newTenant(): Promise<Tenant> {
  const organizationId = randomUUID();
  const workspace = { id: randomUUID(), name: 'Default', slug: 'default' };
  await new OrganizationsRepository(dataSource, new Database(dataSource)).insertOrganization(
    { id: organizationId, name: 'A tenant' },
    workspace,
  );
  return {
    organizationId,
    keyHash: await newKey(organizationId, 'api'),
    managementKeyHash: await newKey(organizationId, 'management'),
    issuerId: await newIssuer(organizationId),
  };
}

function newPolicy({ organizationId, keyHash, issuerId }: Tenant, values: Partial<NewPolicy> = {}): NewPolicy {
  return {
    id: randomUUID(),
    organizationId,
    issuerId,
    name: 'deploy',
    subject: 'workload',
    audience: 'sluice',
    condition: null,
    apiKeyHash: keyHash,
    enabled: true,
    singleUse: false,
    checks: [{ kind: 'scopes', value: 'infer' }],
    ...values,
  };
}

describe('the tables of workload identity', () => {
  it('are what the entities say', async () => {
    const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
    const own = /identity_issuers|federation_policies/;
    expect(upQueries.map(({ query }) => query).filter((query) => own.test(query))).toEqual([]);
  });
});

describe(PoliciesRepository.name, () => {
  let tenant: Tenant;
  let stranger: Tenant;

  beforeAll(async () => {
    [tenant, stranger] = [await newTenant(), await newTenant()];
  });

  it('finds an enabled policy with its issuer by nothing but its id', async () => {
    const policy = newPolicy(tenant);
    await policies.insertPolicy(policy);
    expect(await policies.findEnabledPolicy(policy.id)).toEqual({
      id: policy.id,
      organizationId: tenant.organizationId,
      subject: 'workload',
      audience: 'sluice',
      condition: null,
      apiKeyHash: tenant.keyHash,
      singleUse: false,
      checks: [{ kind: 'scopes', value: 'infer' }],
      issuerId: tenant.issuerId,
      issuerUrl: 'https://issuer.example',
      jwksUrl: null,
    });
    await policies.updatePolicy(policy, { enabled: false });
    expect(await policies.findEnabledPolicy(policy.id)).toBeNull();
  });

  it('keeps organizations apart', async () => {
    const policy = newPolicy(tenant);
    await policies.insertPolicy(policy);
    const foreign = { id: policy.id, organizationId: stranger.organizationId };
    const unknown = { id: randomUUID(), organizationId: tenant.organizationId };
    for (const reference of [foreign, unknown]) {
      await expect(policies.getPolicy(reference)).rejects.toMatchObject({ code: 'not_found' });
      await expect(policies.updatePolicy(reference, { name: 'mine' })).rejects.toMatchObject({ code: 'not_found' });
      await expect(policies.deletePolicy(reference)).rejects.toMatchObject({ code: 'not_found' });
    }
    const page = { organizationId: stranger.organizationId, offset: 0, limit: 100 };
    expect(await policies.findPolicies(page)).toEqual({ policies: [], totalCount: 0 });
  });

  it('refuses an issuer of somebody else, and a policy that binds nobody', async () => {
    await expect(policies.insertPolicy(newPolicy(tenant, { issuerId: stranger.issuerId }))).rejects.toMatchObject({
      code: 'invalid_request',
      message: 'issuer_id names no issuer of the organization',
      metadata: { param: 'issuer_id' },
    });
    const nobody = {
      code: 'invalid_request',
      message: 'subject or condition is required',
      metadata: { param: 'subject' },
    };
    await expect(policies.insertPolicy(newPolicy(tenant, { subject: null }))).rejects.toMatchObject(nobody);
    const policy = newPolicy(tenant);
    await policies.insertPolicy(policy);
    await expect(policies.updatePolicy(policy, { subject: null })).rejects.toMatchObject(nobody);
  });

  it('goes with its issuer', async () => {
    const issuerId = await newIssuer(tenant.organizationId);
    const policy = newPolicy(tenant, { issuerId });
    await policies.insertPolicy(policy);
    await issuers.deleteIssuer({ id: issuerId, organizationId: tenant.organizationId });
    expect(await policies.findEnabledPolicy(policy.id)).toBeNull();
  });

  it('acts as API keys of its organization only', async () => {
    const { organizationId, keyHash, managementKeyHash } = tenant;
    expect(await keys.isApiKeyOf(organizationId, keyHash)).toBe(true);
    for (const hash of [managementKeyHash, stranger.keyHash, '0'.repeat(64)]) {
      expect(await keys.isApiKeyOf(organizationId, hash)).toBe(false);
    }
  });
});

describe(IssuersRepository.name, () => {
  it('keeps organizations apart', async () => {
    const [tenant, stranger] = [await newTenant(), await newTenant()];
    const foreign = { id: tenant.issuerId, organizationId: stranger.organizationId };
    await expect(issuers.getIssuer(foreign)).rejects.toMatchObject({ code: 'not_found' });
    await expect(issuers.updateIssuer(foreign, { name: 'mine' })).rejects.toMatchObject({ code: 'not_found' });
    await expect(issuers.deleteIssuer(foreign)).rejects.toMatchObject({ code: 'not_found' });
    expect((await issuers.getIssuer({ ...foreign, organizationId: tenant.organizationId })).name).toBe('CI');
  });
});

describe(UsedTokenIdsRepository.name, () => {
  const later = Math.floor(Date.now() / 1_000) + 600;
  const use = (tokenId: string, values: Partial<TokenUse> = {}): TokenUse => ({
    organizationId: 'organization',
    issuerId: 'issuer',
    issuerUrl: 'https://issuer.example',
    tokenId,
    expiresAtSeconds: later,
    ...values,
  });

  it('gives a token to one of two hundred that show it at once', async () => {
    const claims = Array.from({ length: 200 }, () => usedTokenIds.claimTokenId(use('once')));
    expect((await Promise.all(claims)).filter(Boolean)).toHaveLength(1);
    expect(await usedTokenIds.claimTokenId(use('once'))).toBe(false);
    const another = { issuerId: 'another', issuerUrl: 'https://another.example' };
    expect(await usedTokenIds.claimTokenId(use('once', another))).toBe(true);
  });

  it('knows a token again under another row of the same issuer, and of each organization by itself', async () => {
    expect(await usedTokenIds.claimTokenId(use('rows'))).toBe(true);
    expect(await usedTokenIds.claimTokenId(use('rows', { issuerId: 'second' }))).toBe(false);
    const foreign = { organizationId: 'stranger', issuerId: 'third' };
    expect(await usedTokenIds.claimTokenId(use('rows', foreign))).toBe(true);
  });

  it('gives a token to one of two hundred that show it under many rows of the same issuer', async () => {
    const claims = Array.from({ length: 200 }, (_, row) =>
      usedTokenIds.claimTokenId(use('many rows', { issuerId: `row ${row % 20}` })),
    );
    expect((await Promise.all(claims)).filter(Boolean)).toHaveLength(1);
  });

  it('counts the uses of the version before, which still counts ours while it runs beside', async () => {
    const byRow = (tokenId: string): string => hash('sha256', JSON.stringify(['issuer', tokenId]), 'hex');
    await dataSource.query('INSERT INTO used_token_ids (hash, expires_at) VALUES ($1, now())', [byRow('earlier')]);
    expect(await usedTokenIds.claimTokenId(use('earlier'))).toBe(false);
    expect(await usedTokenIds.claimTokenId(use('ours'))).toBe(true);
    const seen = await dataSource.query('SELECT FROM used_token_ids WHERE hash = $1', [byRow('ours')]);
    expect(seen).toHaveLength(1);
  });

  it('lets no token through while it cannot be known whether it was used', async () => {
    const away = createDataSource({ url: testDatabase.url, poolSize: 1 });
    await away.initialize();
    const cut = new UsedTokenIdsRepository(new Database(away));
    expect(await cut.claimTokenId(use('before'))).toBe(true);
    await away.destroy();
    await expect(cut.claimTokenId(use('after'))).rejects.toThrow();
    expect(await usedTokenIds.claimTokenId(use('after'))).toBe(true);
  });

  it('would give it to several if it looked first and wrote then', async () => {
    const lookThenWrite = async (token: string): Promise<boolean> => {
      const seen: unknown[] = await dataSource.query('SELECT FROM used_token_ids WHERE hash = $1', [token]);
      if (seen.length > 0) return false;
      await dataSource.query(
        'INSERT INTO used_token_ids (hash, expires_at) VALUES ($1, now()) ON CONFLICT (hash) DO NOTHING',
        [token],
      );
      return true;
    };
    const claims = Array.from({ length: 200 }, () => lookThenWrite('a'.repeat(64)));
    expect((await Promise.all(claims)).filter(Boolean).length).toBeGreaterThan(1);
  });
});
