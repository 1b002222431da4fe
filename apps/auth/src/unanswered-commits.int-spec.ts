import { randomBytes, randomUUID } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { AuditRepository, createDataSource, Database } from '@libs/persistence';
import { createTestDatabase, DatabaseProxy, type TestDatabase } from '@libs/persistence/testing';
import { ApiKeyEntity } from './accounts/api-key.entity';
import { KeysRepository, type NewKey } from './keys/keys.repository';
import { AuthorizationCodeEntity } from './oauth/authorization-code.entity';
import { AuthorizationCodesRepository } from './oauth/authorization-codes.repository';
import { OauthAppEntity } from './oauth/oauth-app.entity';
import { OrganizationEntity } from './accounts/organization.entity';
import { OrganizationsRepository } from './organizations/organizations.repository';
import { FederationPolicyEntity } from './workload-identity/federation-policy.entity';
import { IdentityIssuerEntity } from './workload-identity/identity-issuer.entity';
import { IssuersRepository } from './workload-identity/issuers.repository';
import { PoliciesRepository } from './workload-identity/policies.repository';
import { WorkspaceBudgetEntity } from './workspaces/workspace-budget.entity';
import { WorkspaceMemberEntity } from './workspaces/workspace-member.entity';
import { WorkspaceEntity } from './accounts/workspace.entity';
import { WorkspacesRepository } from './workspaces/workspaces.repository';

const ENTITIES = [
  ApiKeyEntity,
  AuthorizationCodeEntity,
  FederationPolicyEntity,
  IdentityIssuerEntity,
  OauthAppEntity,
  OrganizationEntity,
  WorkspaceBudgetEntity,
  WorkspaceEntity,
  WorkspaceMemberEntity,
];

/** What is made once and partly shown once: an error for what is there would leave its caller without it. */
describe('a commit that is not answered', () => {
  let testDatabase: TestDatabase;
  let proxy: DatabaseProxy;
  let dataSource: DataSource;
  let database: Database;
  let organizationId: string;
  let keys: KeysRepository;
  let codes: AuthorizationCodesRepository;

  beforeAll(async () => {
    testDatabase = await createTestDatabase();
    proxy = await DatabaseProxy.start(testDatabase.url);
    dataSource = createDataSource({ url: proxy.url, entities: ENTITIES, connectTimeoutMs: 20_000 });
    await dataSource.initialize();
    database = new Database(dataSource);
    keys = new KeysRepository(database);
    codes = new AuthorizationCodesRepository(database, keys, new AuditRepository(database));
    organizationId = randomUUID();
    await makeOrganization(organizationId);
  });

  afterAll(async () => {
    await dataSource?.destroy();
    await proxy?.stop();
    await testDatabase?.drop();
  });

  const makeOrganization = (id: string): Promise<OrganizationEntity> =>
    new OrganizationsRepository(dataSource, database).insertOrganization(
      { id, name: 'A tenant' },
      { id: randomUUID(), name: 'Default', slug: 'default' },
    );

  const randomHash = (): string => randomBytes(32).toString('hex');

  /** The work with the answer to its commit lost. */
  async function unanswered<T>(table: string, work: () => Promise<T>): Promise<T> {
    const met = proxy.failCommit(`INSERT INTO "${table}"`, 'unanswered');
    const result = await work();
    await met;
    return result;
  }

  function newKey(): NewKey {
    const limits = {
      limitUsd: null,
      limitReset: null,
      includeByokInLimit: false,
      expiresAt: null,
      creatorUserId: null,
    };
    const names = { name: 'a key', label: 'sk-…', workspaceId: null, kind: 'api' } as const;
    return { hash: randomHash(), id: randomUUID(), organizationId, ...names, ...limits };
  }

  async function newCode(): Promise<string> {
    const { codeHash } = await codes.insertCode({
      codeHash: randomHash(),
      organizationId,
      workspaceId: null,
      appHost: null,
      challenge: null,
      challengeMethod: null,
      keyName: 'app',
      limitUsd: null,
      limitReset: null,
      keyExpiresAt: null,
      lifetimeSeconds: 600,
    });
    return codeHash;
  }

  it('returns the new secret of a key whose rotation was committed', async () => {
    const key = newKey();
    await keys.insertKey(key);
    const secret = { secretHash: randomHash(), label: 'sk-…', rotationId: null };
    const met = proxy.failCommit('UPDATE "api_keys"', 'unanswered');
    const reference = { organizationId, hash: key.hash };
    expect(await keys.rotateKey(reference, secret, 3_600)).toMatchObject({ secretHash: secret.secretHash });
    await met;
    expect(await keys.findUsableKey(key.hash)).toMatchObject({ hash: key.hash });
  });

  it('makes an organization', async () => {
    const id = randomUUID();
    expect(await unanswered('organizations', () => makeOrganization(id))).toMatchObject({ id });
  });

  it('makes a workspace', async () => {
    const workspace = { id: randomUUID(), organizationId, name: 'Next', slug: 'next', description: null };
    const insert = () => new WorkspacesRepository(database).insertWorkspace(workspace);
    expect(await unanswered('workspaces', insert)).toMatchObject({ id: workspace.id });
  });

  it('makes a key', async () => {
    const key = newKey();
    expect(await unanswered('api_keys', () => keys.insertKey(key))).toMatchObject({ hash: key.hash });
    expect(await keys.findUsableKey(key.hash)).not.toBeNull();
  });

  it('makes an authorization code', async () => {
    expect(await unanswered('authorization_codes', newCode)).toHaveLength(64);
  });

  it('redeems an authorization code once, and leaves its key alone', async () => {
    const codeHash = await newCode();
    const { id, hash, label } = newKey();
    const receivedAt = new Date().toISOString();
    const ids = { requestId: 'req-1', clientRequestId: null };
    const key = { keyHash: hash, keyLabel: label };
    const proof = { codeHash, challenge: null, challengeMethod: null, ...key, receivedAt, ...ids };
    expect(await unanswered('api_keys', () => codes.redeemCode(proof, { id, hash, label }))).toBe('redeemed');
    expect(await keys.findUsableKey(hash)).not.toBeNull();
  });

  it('makes an issuer and a policy', async () => {
    const issuer = { id: randomUUID(), organizationId, name: 'CI', issuerUrl: 'https://ci.example', jwksUrl: null };
    const insert = () => new IssuersRepository(database).insertIssuer(issuer);
    expect(await unanswered('identity_issuers', insert)).toMatchObject({ id: issuer.id });
    const { hash: apiKeyHash } = await keys.insertKey(newKey());
    const id = randomUUID();
    const policy = {
      id,
      organizationId,
      issuerId: issuer.id,
      name: 'deploy',
      subject: 'workload',
      audience: 'sluice',
      condition: null,
      apiKeyHash,
      enabled: true,
      singleUse: false,
      checks: [],
    };
    const insertPolicy = () => new PoliciesRepository(database).insertPolicy(policy);
    expect(await unanswered('federation_policies', insertPolicy)).toMatchObject({ id });
  });
});
