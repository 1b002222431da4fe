import { randomBytes, randomUUID } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { GetWorkspace, webhookSecretPurpose, type WorkspaceRecord } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { createDataSource, Database } from '@libs/persistence';
import { createTestDatabase, DatabaseProxy, type TestDatabase } from '@libs/persistence/testing';
import { SealingKeyPair } from '@libs/platform';
import { FakeMessageBus } from '@libs/platform/testing';
import { CredentialEntity } from '../vault/credential.entity';
import { EnvelopeCipher } from '../vault/envelope-cipher';
import type { RingKey } from '../vault/key-ring';
import { LocalKeyWrapper } from '../vault/local-key-wrapper';
import { OpenJobsRepository } from '../vault/open-jobs.repository';
import { RewrappingService } from '../vault/rewrapping.service';
import { SealedCredentialsRepository } from '../vault/sealed-credentials.repository';
import { WebhookSecretsRepository } from './webhook-secrets.repository';
import { WebhookSecretsService } from './webhook-secrets.service';

const [older, newer] = [1, 2].map((id): RingKey => ({ id: `key-${id}`, key: randomBytes(32) })) as [RingKey, RingKey];

describe(WebhookSecretsService.name, () => {
  let testDatabase: TestDatabase;
  let dataSource: DataSource;
  let tenant: { organizationId: string; workspaceId: string };
  let secrets: WebhookSecretsService;

  beforeAll(async () => {
    testDatabase = await createTestDatabase();
    dataSource = createDataSource({ url: testDatabase.url, entities: [CredentialEntity] });
    await dataSource.initialize();
  });

  afterAll(async () => {
    await dataSource?.destroy();
    await testDatabase?.drop();
  });

  beforeEach(() => {
    tenant = { organizationId: randomUUID(), workspaceId: randomUUID() };
    secrets = serviceWith(older);
  });

  function serviceWith(...ring: [RingKey, ...RingKey[]]): WebhookSecretsService {
    return serviceOn(dataSource, ...ring);
  }

  function serviceOn(source: DataSource, ...ring: [RingKey, ...RingKey[]]): WebhookSecretsService {
    const bus = new FakeMessageBus().answers(GetWorkspace, ({ organizationId, id }) => {
      const isOwn = organizationId === tenant.organizationId && id === tenant.workspaceId;
      if (!isOwn) throw new AppError('not_found', 'No such workspace');
      return { id } as WorkspaceRecord;
    });
    const repository = new WebhookSecretsRepository(new Database(source));
    const jobs = new OpenJobsRepository(new Database(source));
    return new WebhookSecretsService(repository, new EnvelopeCipher(new LocalKeyWrapper(ring)), bus, jobs);
  }

  async function rotate(by = secrets): Promise<string> {
    const pair = SealingKeyPair.generate();
    const { sealedSecret } = await by.rotate({ ...tenant, recipient: pair.publicKey });
    return (await pair.open(sealedSecret, webhookSecretPurpose(tenant.workspaceId))).reveal();
  }

  /** What the worker has to sign for. */
  async function owe(of: typeof tenant): Promise<void> {
    await dataSource.query(
      `INSERT INTO webhook_deliveries (id, organization_id, workspace_id, url, host, type, payload)
       VALUES ($1, $2, $3, 'https://receiver.test/', 'receiver.test:443', 'batch.completed', '{}')`,
      [randomUUID(), of.organizationId, of.workspaceId],
    );
  }

  async function open(by = secrets, of = tenant): Promise<string[]> {
    await owe(of);
    const pair = SealingKeyPair.generate();
    const { sealedSecrets } = await by.open({ ...of, recipient: pair.publicKey });
    const purpose = webhookSecretPurpose(of.workspaceId);
    return Promise.all(sealedSecrets.map(async (sealed) => (await pair.open(sealed, purpose)).reveal()));
  }

  const rows = () =>
    dataSource.query<Record<string, unknown>[]>('SELECT * FROM webhook_secrets WHERE workspace_id = $1', [
      tenant.workspaceId,
    ]);

  it('has nothing to sign with before a secret was made', async () => {
    expect(await open()).toEqual([]);
  });

  it('makes a secret of 256 bits, of which nothing can be read in the table', async () => {
    const secret = await rotate();
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(await open()).toEqual([secret]);
    const stored = JSON.stringify(await rows());
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    for (const text of [secret.slice(6, 20), key.toString('hex').slice(0, 20)]) expect(stored).not.toContain(text);
  });

  it('signs with the secret before too for 24 hours, and with no third one', async () => {
    const [first, second] = [await rotate(), await rotate()];
    expect(await open()).toEqual([second, first]);
    const third = await rotate();
    expect(await open()).toEqual([third, second]);
    await dataSource.query(`UPDATE webhook_secrets SET expires_at = expires_at - interval '24 hours'`);
    expect(await open()).toEqual([third]);
    expect(await rows()).toHaveLength(1);
  });

  it('has one current secret and one before it, however many are made at once', async () => {
    const made = await Promise.all(Array.from({ length: 8 }, () => rotate()));
    const live = await open();
    expect(live).toHaveLength(2);
    expect(live.every((secret) => made.includes(secret))).toBe(true);
    expect((await rows()).filter((row) => row['expires_at'] === null)).toHaveLength(1);
  });

  it('shows the secret that it made when the answer to its commit is lost', async () => {
    const proxy = await DatabaseProxy.start(testDatabase.url);
    const source = await createDataSource({ url: proxy.url, connectTimeoutMs: 20_000 }).initialize();
    try {
      const first = await rotate();
      const met = proxy.failCommit('INSERT INTO webhook_secrets', 'unanswered');
      const second = await rotate(serviceOn(source, older));
      await met;
      expect(await open()).toEqual([second, first]);
    } finally {
      await source.destroy();
      await proxy.stop();
    }
  });

  it('makes none for a foreign workspace and opens none to another organization', async () => {
    await rotate();
    const foreign = { ...tenant, organizationId: randomUUID() };
    const { publicKey: recipient } = SealingKeyPair.generate();
    await expect(secrets.rotate({ ...foreign, recipient })).rejects.toMatchObject({ code: 'not_found' });
    expect(await open(secrets, foreign)).toEqual([]);
  });

  it('opens none while the workspace is owed no webhook', async () => {
    const secret = await rotate();
    const ask = () => secrets.open({ ...tenant, recipient: SealingKeyPair.generate().publicKey });
    await expect(ask()).rejects.toMatchObject({ code: 'not_found' });
    expect(await open()).toEqual([secret]);
    await dataSource.query('UPDATE webhook_deliveries SET delivered_at = now()');
    await expect(ask()).rejects.toMatchObject({ code: 'not_found' });
  });

  it('opens no secret whose row was given to another workspace', async () => {
    await rotate();
    const other = { ...tenant, workspaceId: randomUUID() };
    await dataSource.query('UPDATE webhook_secrets SET workspace_id = $1 WHERE workspace_id = $2', [
      other.workspaceId,
      tenant.workspaceId,
    ]);
    await expect(open(secrets, other)).rejects.toMatchObject({ code: 'server' });
  });

  it('says which workspaces sign', async () => {
    await rotate();
    const ask = (organizationId: string) =>
      secrets.findSigning({ organizationId, workspaceIds: [tenant.workspaceId, randomUUID()] });
    expect(await ask(tenant.organizationId)).toEqual({ workspaceIds: [tenant.workspaceId] });
    expect(await ask(randomUUID())).toEqual({ workspaceIds: [] });
  });

  it('is wrapped anew with a new key-encryption key like the keys of providers', async () => {
    await dataSource.query('TRUNCATE webhook_secrets');
    const made = [await rotate(), await rotate()];
    const wrapper = new LocalKeyWrapper([newer, older]);
    const sealed = new SealedCredentialsRepository(new Database(dataSource));
    const rewrapping = new RewrappingService(sealed, new EnvelopeCipher(wrapper), wrapper);
    const report = { keyId: newer.id, failedIds: [], lastId: null, remaining: 0 };
    expect(await rewrapping.rewrapPage({ limit: 10 })).toEqual({ ...report, rewrapped: 2 });
    expect(await open(serviceWith(newer))).toEqual(made.toReversed());
  });
});
