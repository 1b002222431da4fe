import { randomBytes, randomUUID } from 'node:crypto';
import type { DataSource } from 'typeorm';
import type { RedeemAuthorizationCodeRequest } from '@libs/contracts';
import { AuditRepository, createDataSource, Database } from '@libs/persistence';
import { createTestDatabase, type TestDatabase } from '@libs/persistence/testing';
import { ApiKeyEntity } from '../accounts/api-key.entity';
import { KeysRepository } from '../keys/keys.repository';
import { OrganizationEntity } from '../accounts/organization.entity';
import { OrganizationsRepository } from '../organizations/organizations.repository';
import { WorkspaceBudgetEntity } from '../workspaces/workspace-budget.entity';
import { WorkspaceMemberEntity } from '../workspaces/workspace-member.entity';
import { WorkspaceEntity } from '../accounts/workspace.entity';
import { WorkspacesRepository } from '../workspaces/workspaces.repository';
import { AuthorizationCodeEntity } from './authorization-code.entity';
import { AuthorizationCodesRepository, type NewCode } from './authorization-codes.repository';
import { ConsentSessionsRepository } from './consent-sessions.repository';
import { OauthAppEntity } from './oauth-app.entity';

const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';
const randomHash = (): string => randomBytes(32).toString('hex');

let testDatabase: TestDatabase;
let dataSource: DataSource;
let keys: KeysRepository;
let audit: AuditRepository;
let codes: AuthorizationCodesRepository;
let organizationId: string;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  dataSource = createDataSource({
    url: testDatabase.url,
    connectTimeoutMs: 20_000,
    entities: [
      ApiKeyEntity,
      OrganizationEntity,
      WorkspaceEntity,
      WorkspaceBudgetEntity,
      WorkspaceMemberEntity,
      OauthAppEntity,
      AuthorizationCodeEntity,
    ],
  });
  await dataSource.initialize();
  keys = new KeysRepository(new Database(dataSource));
  audit = new AuditRepository(new Database(dataSource));
  codes = new AuthorizationCodesRepository(new Database(dataSource), keys, audit);
  organizationId = randomUUID();
  const workspace = { id: randomUUID(), name: 'Default', slug: 'default' };
  await new OrganizationsRepository(dataSource, new Database(dataSource)).insertOrganization(
    { id: organizationId, name: 'A tenant' },
    workspace,
  );
});

afterAll(async () => {
  await dataSource?.destroy();
  await testDatabase?.drop();
});

async function newCode(values: Partial<NewCode> = {}): Promise<AuthorizationCodeEntity> {
  return codes.insertCode({
    codeHash: randomHash(),
    organizationId,
    workspaceId: null,
    appHost: 'app.example',
    challenge: CHALLENGE,
    challengeMethod: 'S256',
    keyName: 'app.example',
    limitUsd: '5',
    limitReset: 'monthly',
    keyExpiresAt: null,
    lifetimeSeconds: 600,
    ...values,
  });
}

function proof(codeHash: string, values: Partial<RedeemAuthorizationCodeRequest> = {}): RedeemAuthorizationCodeRequest {
  const receivedAt = new Date().toISOString();
  const keyHash = randomHash();
  const ids = { requestId: 'req-ours', clientRequestId: 'theirs' };
  const shown = { codeHash, challenge: CHALLENGE, challengeMethod: null };
  return { ...shown, keyHash, keyLabel: 'sk-…', receivedAt, ...ids, ...values };
}

const redeem = (request: RedeemAuthorizationCodeRequest): Promise<string> =>
  codes.redeemCode(request, { id: randomUUID(), hash: request.keyHash, label: request.keyLabel });

const isUsable = async (hash: string): Promise<boolean> => (await keys.findUsableKey(hash)) !== null;

describe(AuthorizationCodesRepository.name, () => {
  it('leaves an entry in the audit trail for the key that it makes, and for the key that a replay revokes', async () => {
    const { codeHash } = await newCode();
    const first = proof(codeHash);
    expect(await redeem(first)).toBe('redeemed');
    for (let again = 0; again < 2; again += 1) {
      const receivedAt = new Date(Date.now() + 60_000).toISOString();
      expect(await redeem(proof(codeHash, { receivedAt, requestId: 'req-replay' }))).toBe('replayed');
    }
    const entries = await audit.findEntries(organizationId, { target: first.keyHash }, 10);
    const known = { action: 'POST /api/v1/auth/keys', target: first.keyHash, clientRequestId: 'theirs' };
    expect(entries).toEqual([
      expect.objectContaining({ ...known, requestId: 'req-replay', status: 403 }),
      expect.objectContaining({ ...known, requestId: 'req-ours', status: 200 }),
    ]);
  });

  it('leaves an entry for each wrong proof of a code that there is, which names the code by its hash', async () => {
    const { codeHash } = await newCode();
    await redeem(proof(codeHash, { challenge: CHALLENGE.replace('E9', 'F9') }));
    await redeem(proof(codeHash, { challengeMethod: 'plain' }));
    const known = { action: 'POST /api/v1/auth/keys', target: codeHash, requestId: 'req-ours' };
    expect(await audit.findEntries(organizationId, { target: codeHash }, 10)).toEqual([
      expect.objectContaining({ ...known, status: 400 }),
      expect.objectContaining({ ...known, status: 403 }),
    ]);
  });

  it('has the tables that its entities say', async () => {
    const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
    expect(upQueries.map(({ query }) => query).filter((query) => /oauth_apps|authorization_codes/.test(query))).toEqual(
      [],
    );
  });

  it('makes the key that the code was asked for', async () => {
    const { codeHash } = await newCode();
    const request = proof(codeHash);
    expect(await redeem(request)).toBe('redeemed');
    expect(await keys.findUsableKey(request.keyHash)).toMatchObject({
      organizationId,
      kind: 'api',
      name: 'app.example',
      limitUsd: '5.000000000000',
      limitReset: 'monthly',
      expiresAt: null,
    });
  });

  it('knows an app by its host, however many ask for it at once', async () => {
    const made = await Promise.all(Array.from({ length: 8 }, () => newCode({ appHost: 'busy.example' })));
    expect(new Set(made.map(({ appId }) => appId)).size).toBe(1);
    expect((await newCode({ appHost: 'other.example' })).appId).not.toBe(made[0]!.appId);
    expect((await newCode({ appHost: null })).appId).toBeNull();
  });

  it('makes one key of a hundred requests at once, and leaves it alone', async () => {
    const { codeHash } = await newCode();
    const requests = Array.from({ length: 100 }, () => proof(codeHash));
    const verdicts = await Promise.all(requests.map(redeem));
    expect(verdicts.filter((verdict) => verdict === 'redeemed')).toHaveLength(1);
    const usable = await Promise.all(requests.map(({ keyHash }) => isUsable(keyHash)));
    expect(usable).toEqual(verdicts.map((verdict) => verdict === 'redeemed'));
  });

  it('revokes the key when the code comes again', async () => {
    const { codeHash } = await newCode();
    const first = proof(codeHash);
    await redeem(first);
    expect(await redeem(proof(codeHash, { receivedAt: new Date(Date.now() + 1_000).toISOString() }))).toBe('replayed');
    expect(await isUsable(first.keyHash)).toBe(false);
  });

  it('burns a code after five wrong proofs', async () => {
    const { codeHash } = await newCode();
    const wrong = { challenge: CHALLENGE.replace('E9', 'F9') };
    for (let attempt = 0; attempt < 4; attempt += 1) {
      expect(await redeem(proof(codeHash, wrong))).toBe('wrong-proof');
    }
    expect(await redeem(proof(codeHash, { challengeMethod: 'plain' }))).toBe('wrong-method');
    expect(await redeem(proof(codeHash))).toBe('refused');
  });

  it('refuses a code that is unknown, has run out, or whose workspace is gone', async () => {
    expect(await redeem(proof(randomHash()))).toBe('refused');
    const expired = await newCode({ lifetimeSeconds: 0 });
    expect(await redeem(proof(expired.codeHash))).toBe('refused');
    const workspace = { id: randomUUID(), organizationId, name: 'Short', slug: 'short', description: null };
    const workspaces = new WorkspacesRepository(new Database(dataSource));
    await workspaces.insertWorkspace(workspace);
    const { codeHash } = await newCode({ workspaceId: workspace.id });
    await workspaces.deleteWorkspace(workspace);
    expect(await redeem(proof(codeHash))).toBe('refused');
  });

  it('refuses a workspace of nobody and a code that exists', async () => {
    await expect(newCode({ workspaceId: randomUUID() })).rejects.toMatchObject({
      code: 'invalid_request',
      message: 'workspace_id names no workspace of the organization',
      metadata: { param: 'workspace_id' },
    });
    const { codeHash } = await newCode();
    await expect(newCode({ codeHash })).rejects.toMatchObject({ code: 'conflict' });
  });
});

describe(ConsentSessionsRepository.name, () => {
  it('finds a session until it is over or closed', async () => {
    const sessions = new ConsentSessionsRepository(new Database(dataSource));
    const { codeHash } = await newCode();
    const { keyHash } = proof(codeHash);
    await redeem(proof(codeHash, { keyHash }));
    const [open, over] = [randomHash(), randomHash()];
    await sessions.insertSession(over, keyHash, 0);
    expect(await sessions.findKeyHash(over)).toBeNull();
    await sessions.insertSession(open, keyHash, 60);
    expect(await sessions.findKeyHash(open)).toBe(keyHash);
    await sessions.deleteSession(open);
    expect(await sessions.findKeyHash(open)).toBeNull();
  });
});
