import { randomBytes, randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import {
  GetWorkspace,
  intakePurpose,
  ListKeys,
  ListWorkspaces,
  openingPurpose,
  Secret,
  type CreateCredentialRequest,
  type CredentialRecord,
  type PartyName,
  type WorkspaceRecord,
} from '@libs/contracts';
import { AppError } from '@libs/errors';
import { createDataSource, Database } from '@libs/persistence';
import { createTestDatabase, type TestDatabase } from '@libs/persistence/testing';
import { seal, SealingKeyPair } from '@libs/platform';
import { FakeMessageBus } from '@libs/platform/testing';
import { CredentialEntity } from './credential.entity';
import { CredentialsRepository, MAX_CREDENTIALS_OF_WORKSPACE } from './credentials.repository';
import { CredentialsService } from './credentials.service';
import { EnvelopeCipher } from './envelope-cipher';
import { IntakeKeys } from './intake-keys';
import { IntakeSeeds } from './intake-seeds';
import type { RingEntry, RingKey } from './key-ring';
import { KeyVerdictsRepository } from './key-verdicts.repository';
import { KeyVerdictsService } from './key-verdicts.service';
import { OpenJobsRepository } from './open-jobs.repository';
import { OpeningService } from './opening.service';
import { RewrappingService } from './rewrapping.service';
import { SealedCredentialsRepository } from './sealed-credentials.repository';
import { RingKeyWrapper } from './ring-key-wrapper';
import { TenancyService } from './tenancy.service';
import { parseManagedKeyName } from '../key-services/managed-key-name';
import type { KeyServicePlaces } from '../key-services/managed-keys';
import { KeyServiceStandIn, VAULT_TOKEN } from '../key-services/testing/key-service-stand-in';

const KEY = 'sk-canary-0123456789-AbCd';
const OWN_HASH = 'a'.repeat(64);
const [older, newer] = [1, 2].map((id): RingKey => ({ id: `key-${id}`, key: randomBytes(32) })) as [RingKey, RingKey];

interface Tenant {
  readonly organizationId: string;
  readonly workspaceId: string;
}

let testDatabase: TestDatabase;
let dataSource: DataSource;
let tenants: Tenant[];
let tenant: Tenant;
let app: ReturnType<typeof appWith>;
let keyService: KeyServiceStandIn;
let places: KeyServicePlaces;

/** The app as it is with this ring. */
function appWith(...ring: [RingEntry, ...RingEntry[]]) {
  const wrapper = new RingKeyWrapper(ring, places);
  const cipher = new EnvelopeCipher(wrapper);
  const intake = new IntakeKeys(ring, new IntakeSeeds(new Database(dataSource), wrapper));
  const sealed = new SealedCredentialsRepository(new Database(dataSource));
  const tenancy = new TenancyService(authBus());
  return {
    intake,
    sealed,
    credentials: new CredentialsService(new CredentialsRepository(new Database(dataSource)), tenancy, intake, cipher),
    opening: new OpeningService(sealed, cipher, new OpenJobsRepository(new Database(dataSource))),
    verdicts: new KeyVerdictsService(new KeyVerdictsRepository(new Database(dataSource))),
    rewrapping: new RewrappingService(sealed, cipher, wrapper),
  };
}

/** The auth app: tenants with one workspace and one API key each. */
function authBus(): FakeMessageBus {
  const workspaceOf = (organizationId: string): WorkspaceRecord | undefined => {
    const found = tenants.find((one) => one.organizationId === organizationId);
    return found && ({ id: found.workspaceId, isDefault: true } as WorkspaceRecord);
  };
  return new FakeMessageBus()
    .answers(GetWorkspace, ({ organizationId, id }) => {
      const own = workspaceOf(organizationId);
      if (own?.id !== id) throw new AppError('not_found', 'No such workspace');
      return own;
    })
    .answers(ListWorkspaces, ({ organizationId }) => {
      const own = workspaceOf(organizationId);
      return { workspaces: own ? [own] : [], totalCount: own ? 1 : 0 };
    })
    .answers(ListKeys, ({ hashes }) => ({
      keys: [],
      totalCount: hashes?.filter((hash) => hash === OWN_HASH).length ?? 0,
    }));
}

beforeAll(async () => {
  Logger.overrideLogger(false);
  testDatabase = await createTestDatabase();
  const entities = [CredentialEntity];
  dataSource = createDataSource({ url: testDatabase.url, entities, poolSize: 20 });
  await dataSource.initialize();
  keyService = await KeyServiceStandIn.start();
  places = { VAULT_ADDR: keyService.url, VAULT_TOKEN: new Secret(VAULT_TOKEN) };
}, 30_000);

afterAll(async () => {
  await keyService?.stop();
  await dataSource?.destroy();
  await testDatabase?.drop();
});

beforeEach(() => {
  tenants = [1, 2].map(() => ({ organizationId: randomUUID(), workspaceId: randomUUID() }));
  tenant = tenants[0]!;
  app = appWith(older);
});

async function create(
  values: Partial<CreateCredentialRequest> & { readonly key?: string } = {},
  into = app,
): Promise<CredentialRecord> {
  const { key = KEY, organizationId = tenant.organizationId, ...rest } = values;
  const sealedKey = await seal(new Secret(key), await into.intake.current(), intakePurpose(organizationId));
  return into.credentials.create({ organizationId, provider: 'openai', sealedKey, ...rest });
}

async function open(
  credential: Pick<CredentialRecord, 'id'>,
  owner = tenant,
  by = app,
  apiKeyHash?: string,
  asker: PartyName = 'gateway',
): Promise<string> {
  const pair = SealingKeyPair.generate();
  const { id } = credential;
  const { sealedKey } = await by.opening.open({ ...owner, id, recipient: pair.publicKey, apiKeyHash }, asker);
  return (await pair.open(sealedKey, openingPurpose(id))).reveal();
}

async function outcomeOf(operation: Promise<unknown>): Promise<string> {
  return operation.then(
    () => 'done',
    (error: { code?: string; message: string }) => `${error.code}: ${error.message}`,
  );
}

describe('the table of the credentials app', () => {
  it('is what the entity says', async () => {
    const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
    expect(upQueries.map(({ query }) => query).filter((query) => /credentials/.test(query))).toEqual([]);
  });

  it.each([
    ['a fallback that is the only one', { isFallback: true, isByokOnly: true }],
    ['an unknown region', { declaredRegion: 'asia' }],
    ['half a key', { wrappedDataKey: null }],
    ['a deleted credential with a key', { deletedAt: new Date() }],
    ['an empty name', { name: '' }],
  ])('itself refuses %s', async (_what, values) => {
    const { id } = await create();
    await expect(dataSource.manager.update(CredentialEntity, { id }, values as object)).rejects.toThrow(/violates/);
  });
});

describe(CredentialsService.name, () => {
  it('keeps a key so that nobody reads it from the table, and everything else as it was given', async () => {
    const created = await create({
      name: 'Ours',
      allowedApiKeyHashes: [OWN_HASH],
      allowedModels: ['openai/gpt-4o'],
      allowedUserIds: [],
      declaredZdr: false,
      disabled: true,
      isRequired: true,
    });
    const { id, createdAt } = created;
    expect(created).toEqual({
      id,
      ...tenant,
      provider: 'openai',
      name: 'Ours',
      label: 'sk-...AbCd',
      disabled: true,
      isByokOnly: false,
      isFallback: false,
      isRequired: true,
      allowedApiKeyHashes: [OWN_HASH],
      allowedModels: ['openai/gpt-4o'],
      allowedUserIds: [],
      declaredRegion: null,
      declaredZdr: false,
      sortOrder: 0,
      createdAt,
      lastError: null,
    });
    expect(await app.credentials.get({ ...tenant, id })).toEqual(created);
    const [stored] = await dataSource.query<{ row: string }[]>(
      'SELECT c::text AS row FROM credentials c WHERE id = $1',
      [id],
    );
    for (const encoding of ['utf8', 'base64', 'base64url', 'hex'] as const) {
      expect(stored!.row).not.toContain(Buffer.from(KEY).toString(encoding).slice(0, 16));
    }
  });

  it('keeps the same key twice without a sign that it is the same', async () => {
    const [one, other] = await Promise.all([create(), create()]);
    const rows = await dataSource.manager.findBy(CredentialEntity, [{ id: one.id }, { id: other.id }]);
    expect(rows[0]!.sealedKey).not.toBe(rows[1]!.sealedKey);
    expect(rows[0]!.wrappedDataKey).not.toEqual(rows[1]!.wrappedDataKey);
  });

  it('makes one credential of what is asked for twice under one id', async () => {
    const id = randomUUID();
    const first = await create({ id });
    expect(first.id).toBe(id);
    expect(await create({ id, name: 'not this one' })).toEqual(first);
    expect(await dataSource.manager.countBy(CredentialEntity, { organizationId: tenant.organizationId })).toBe(1);
  });

  it('gives every credential a place of its own, however many come at once', async () => {
    const made = await Promise.all(Array.from({ length: 40 }, (_, index) => create({ isFallback: index % 4 === 0 })));
    for (const isFallback of [true, false]) {
      const places = made.filter((one) => one.isFallback === isFallback).map(({ sortOrder }) => sortOrder);
      expect(places.toSorted((a, b) => a - b)).toEqual(places.map((_place, index) => index));
    }
    expect(await create({ provider: 'mistral' })).toMatchObject({ sortOrder: 0 });
  });

  it('has an end to the credentials of a workspace', async () => {
    const { id } = await create();
    await dataSource.query(
      `INSERT INTO credentials (id, organization_id, workspace_id, provider, label, sort_order, key_encryption_key_id,
                                wrapped_data_key, sealed_key)
       SELECT gen_random_uuid(), organization_id, workspace_id, provider, label, n, key_encryption_key_id,
              wrapped_data_key, sealed_key FROM credentials, generate_series(1, $2) n WHERE id = $1`,
      [id, MAX_CREDENTIALS_OF_WORKSPACE - 1],
    );
    expect(await outcomeOf(create())).toBe('invalid_request: A workspace has at most 200 credentials');
    await app.credentials.delete({ ...tenant, id });
    expect(await create()).toMatchObject({ sortOrder: 200 });
  });

  it.each([
    ['a foreign workspace', () => ({ workspaceId: tenants[1]!.workspaceId }), 'workspace_id names no workspace of'],
    ['an unknown workspace', () => ({ workspaceId: randomUUID() }), 'workspace_id names no workspace of'],
    [
      'no workspace where there is no default one',
      () => ({ organizationId: randomUUID() }),
      'workspace_id is required',
    ],
    ['a foreign key hash', () => ({ allowedApiKeyHashes: [OWN_HASH, 'b'.repeat(64)] }), 'allowed_api_key_hashes names'],
    ['two sections', () => ({ isFallback: true, isByokOnly: true }), 'is_fallback and is_byok_only exclude'],
    ['a region that the key has not', () => ({ declaredRegion: 'us' as const }), 'declared_region must be the region'],
    ['a key of another form', () => ({ provider: 'cohere', key: '{"api_key":"x"}' }), 'key cannot be used'],
  ])('refuses %s and keeps nothing', async (_what, values, message) => {
    const rows = await dataSource.manager.count(CredentialEntity);
    expect(await outcomeOf(create(values()))).toMatch(new RegExp(`^invalid_request: .*${message}`));
    expect(await dataSource.manager.count(CredentialEntity)).toBe(rows);
  });

  it('asks for a key anew that was sealed to an intake key of the past, or for another organization', async () => {
    const stranger = appWith(newer);
    const sealedKey = await seal(
      new Secret(KEY),
      await stranger.intake.current(),
      intakePurpose(tenant.organizationId),
    );
    expect(await outcomeOf(app.credentials.create({ ...tenant, provider: 'openai', sealedKey }))).toMatch(
      /^conflict: /,
    );
    const foreign = await seal(new Secret(KEY), await app.intake.current(), intakePurpose(tenants[1]!.organizationId));
    expect(await outcomeOf(app.credentials.create({ ...tenant, provider: 'openai', sealedKey: foreign }))).toMatch(
      /^server: /,
    );
  });

  it('lists a workspace by provider and in the order of use, page by page', async () => {
    const made = [
      await create({ provider: 'mistral' }),
      await create({ isFallback: true }),
      await create(),
      await create({ provider: 'cohere' }),
      await create(),
    ];
    const order = [made[3], made[0], made[2], made[4], made[1]].map((one) => one!.id);
    const list = async (values: object = {}) => {
      const { organizationId } = tenant;
      const page = await app.credentials.list({ organizationId, offset: 0, limit: 50, ...values });
      return { ids: page.credentials.map(({ id }) => id), totalCount: page.totalCount };
    };
    expect(await list()).toEqual({ ids: order, totalCount: 5 });
    expect(await list({ offset: 1, limit: 2 })).toEqual({ ids: order.slice(1, 3), totalCount: 5 });
    expect(await list({ provider: 'openai' })).toEqual({ ids: order.slice(2), totalCount: 3 });
    expect(await list({ workspaceId: tenants[1]!.workspaceId })).toEqual({ ids: [], totalCount: 0 });
    await app.credentials.delete({ ...tenant, id: order[0]! });
    expect(await list()).toMatchObject({ totalCount: 4 });
  });

  it('changes what it is given, clears what is null, and keeps the rest', async () => {
    const { id } = await create({ name: 'Ours', allowedModels: ['a/b'], declaredZdr: true, isByokOnly: true });
    const change = (values: object) => app.credentials.update({ organizationId: tenant.organizationId, id, ...values });
    expect(await change({ name: null, allowedModels: ['c/d'], disabled: true })).toMatchObject({
      name: null,
      allowedModels: ['c/d'],
      disabled: true,
      declaredZdr: true,
      isByokOnly: true,
    });
    expect(await change({ allowedModels: null, declaredZdr: null })).toMatchObject({
      allowedModels: null,
      declaredZdr: null,
    });
    expect(await outcomeOf(change({ isFallback: true }))).toContain('is_fallback and is_byok_only exclude');
    expect(await outcomeOf(change({ allowedApiKeyHashes: ['b'.repeat(64)] }))).toContain('allowed_api_key_hashes');
    expect(await change({ isFallback: true, isByokOnly: false })).toMatchObject({ isFallback: true, sortOrder: 0 });
  });

  it('puts what goes over to the other section at its end', async () => {
    const [one, other] = [await create(), await create()];
    await create({ isFallback: true });
    const moved = { ...tenant, id: one.id, isFallback: true };
    expect(await app.credentials.update(moved)).toMatchObject({ isFallback: true, sortOrder: 1 });
    expect(await app.credentials.update({ ...moved, isFallback: false })).toMatchObject({
      sortOrder: other.sortOrder + 1,
    });
  });

  it('takes a new key in the place of the old one, with its label and its region', async () => {
    const created = await create({ key: JSON.stringify({ api_key: KEY, region: 'europe' }) });
    expect(created).toMatchObject({ label: '...AbCd', declaredRegion: 'europe' });
    const sealedKey = await seal(
      new Secret('sk-other-0123456789-EfGh'),
      await app.intake.current(),
      intakePurpose(tenant.organizationId),
    );
    const changed = await app.credentials.update({ ...tenant, id: created.id, sealedKey });
    expect(changed).toMatchObject({ label: 'sk-...EfGh', declaredRegion: null, sortOrder: 0 });
    expect(await open(created)).toBe('sk-other-0123456789-EfGh');
  });

  it('leaves nothing of a key that is deleted', async () => {
    const { id } = await create();
    await app.credentials.delete({ ...tenant, id });
    expect(await dataSource.manager.findOneByOrFail(CredentialEntity, { id })).toMatchObject({
      sealedKey: null,
      wrappedDataKey: null,
      keyEncryptionKeyId: null,
    });
    for (const method of ['get', 'delete', 'update'] as const) {
      expect(await outcomeOf(app.credentials[method]({ ...tenant, id }))).toBe('not_found: No such credential');
    }
    expect(await outcomeOf(open({ id }))).toBe('not_found: No such credential');
  });

  it('answers for a foreign credential as for an unknown one, whatever is asked, and changes nothing', async () => {
    const created = await create();
    const { organizationId } = tenants[1]!;
    for (const id of [created.id, randomUUID()]) {
      for (const method of ['get', 'delete', 'update'] as const) {
        const reference = { organizationId, id, name: 'mine' };
        expect(await outcomeOf(app.credentials[method](reference))).toBe('not_found: No such credential');
      }
    }
    expect(await app.credentials.get({ ...tenant, id: created.id })).toEqual(created);
  });
});

describe(OpeningService.name, () => {
  it('opens a key for whom it belongs to and for nobody else', async () => {
    const created = await create({ allowedApiKeyHashes: [OWN_HASH] });
    expect(await open(created, tenant, app, OWN_HASH)).toBe(KEY);
    const others: [Tenant, string | undefined][] = [
      [tenants[1]!, OWN_HASH],
      [{ ...tenant, workspaceId: tenants[1]!.workspaceId }, OWN_HASH],
      [{ ...tenant, organizationId: tenants[1]!.organizationId }, OWN_HASH],
      [tenant, 'b'.repeat(64)],
      [tenant, undefined],
    ];
    for (const [owner, hash] of others) {
      expect(await outcomeOf(open(created, owner, app, hash))).toBe('not_found: No such credential');
    }
    await app.credentials.update({ ...tenant, id: created.id, disabled: true });
    expect(await outcomeOf(open(created, tenant, app, OWN_HASH))).toBe('not_found: No such credential');
  });

  it('opens no key whose row was tampered with, and goes on showing the row', async () => {
    const [created, other] = [await create(), await create()];
    await dataSource.query(
      'UPDATE credentials c SET sealed_key = o.sealed_key, wrapped_data_key = o.wrapped_data_key FROM credentials o WHERE c.id = $1 AND o.id = $2',
      [created.id, other.id],
    );
    expect(await outcomeOf(open(created))).toBe('server: Internal error');
    expect(await app.credentials.get({ ...tenant, id: created.id })).toEqual(created);
    expect(await open(other)).toBe(KEY);
  });

  it('tells routing of what is in force, and nothing that shows a key', async () => {
    const [one, hidden] = [await create({ isByokOnly: true, allowedModels: ['a/b'] }), await create()];
    await app.credentials.update({ ...tenant, id: hidden.id, disabled: true });
    const found = await app.opening.findOwn({ ...tenant, offset: 0 });
    expect(found).toEqual({
      credentials: [
        {
          id: one.id,
          provider: 'openai',
          sortOrder: 0,
          isDisabled: false,
          isFallback: false,
          isByokOnly: true,
          isRequired: false,
          allowedModels: ['a/b'],
          allowedApiKeyHashes: null,
          allowedUserIds: null,
          declaredZdr: null,
          declaredRegion: null,
        },
      ],
      totalCount: 1,
    });
    expect(await app.opening.findOwn({ ...tenants[1]!, offset: 0 })).toEqual({ credentials: [], totalCount: 0 });
  });

  it('tells as much at once as fits into a message, and the rest from there', async () => {
    const allowedUserIds = Array.from({ length: 100 }, (_, index) => `${index}-`.padEnd(200, '\u{20ac}'));
    const made = await Promise.all(Array.from({ length: 12 }, () => create({ allowedUserIds })));
    const first = await app.opening.findOwn({ ...tenant, offset: 0 });
    expect(first.totalCount).toBe(12);
    expect(first.credentials.length).toBeLessThan(12);
    expect(Buffer.byteLength(JSON.stringify(first))).toBeLessThan(1_000_000);
    const rest = await app.opening.findOwn({ ...tenant, offset: first.credentials.length });
    const ids = [...first.credentials, ...rest.credentials].map(({ id }) => id);
    expect(ids.toSorted()).toEqual(made.map(({ id }) => id).toSorted());
  });
});

describe(KeyVerdictsService.name, () => {
  const says = async (id: string, refusedWith: 401 | 403 | null, keyVersion = 1, owner = tenant): Promise<boolean> =>
    (await app.verdicts.note({ ...owner, id, keyVersion, refusedWith })).isNews;
  const seen = async (id: string) => (await app.credentials.get({ ...tenant, id })).lastError;
  const routed = async () => (await app.opening.findOwn({ ...tenant, offset: 0 })).credentials;

  /** As if everything that was said of keys had been said so many minutes ago. */
  async function age(minutes: number): Promise<void> {
    await dataSource.query(
      `UPDATE credentials SET last_error_at = last_error_at - $1 * interval '1 minute',
         skipped_until = skipped_until - $1 * interval '1 minute'`,
      [minutes],
    );
  }

  /** How long the last refusal keeps calls away from the key, in minutes. */
  async function minutesOf(id: string): Promise<number> {
    const { at, skippedUntil } = (await seen(id))!;
    return (Date.parse(skippedUntil) - Date.parse(at)) / 60_000;
  }

  it('shows what a key was refused with, when, and until when it is passed over', async () => {
    const { id, lastError } = await create();
    expect(lastError).toBeNull();
    const before = Date.now() - 5_000;
    expect(await says(id, 401)).toBe(true);
    const error = (await seen(id))!;
    expect(error.status).toBe(401);
    expect(Date.parse(error.at)).toBeGreaterThan(before);
    expect(await minutesOf(id)).toBe(1);
    const listed = await app.credentials.list({ ...tenant, offset: 0, limit: 10 });
    expect(listed.credentials[0]?.lastError).toEqual(error);
    expect(await routed()).toMatchObject([{ id, wasRefused: true }]);
    const recipient = SealingKeyPair.generate().publicKey;
    expect(await app.opening.open({ ...tenant, id, recipient }, 'gateway')).toMatchObject({
      keyVersion: 1,
      wasRefused: true,
    });
    const { refusedForMs = 0 } = (await routed())[0]!;
    expect(refusedForMs).toBeGreaterThan(0);
    expect(refusedForMs).toBeLessThanOrEqual(60_000);
  });

  it('counts one refusal of however many calls hear it at once', async () => {
    const { id } = await create();
    const news = await Promise.all(Array.from({ length: 50 }, (_, index) => says(id, index % 2 === 0 ? 401 : 403)));
    expect(news.filter(Boolean)).toHaveLength(1);
    expect(await minutesOf(id)).toBe(1);
  });

  it('lets a key be tried again, and passes it over for twice as long each time, at most an hour', async () => {
    const { id } = await create();
    const minutes: number[] = [];
    for (let refusal = 0; refusal < 9; refusal += 1) {
      expect(await says(id, 401)).toBe(true);
      minutes.push(await minutesOf(id));
      await age(60);
      const [record] = await routed();
      expect([record?.wasRefused, record?.refusedForMs]).toEqual([true, undefined]);
    }
    expect(minutes).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
  });

  it('forgets it when the key is taken again, and not for a call that was under way before', async () => {
    const { id } = await create();
    await says(id, 403);
    expect(await says(id, null)).toBe(false);
    expect((await seen(id))?.status).toBe(403);
    await age(1);
    expect(await says(id, null)).toBe(true);
    expect(await seen(id)).toBeNull();
    expect((await routed())[0]).not.toHaveProperty('wasRefused');
    await says(id, 401);
    expect(await minutesOf(id)).toBe(1);
  });

  it('forgets it with a new key, of which nothing that was said of the old one is true', async () => {
    const { id } = await create();
    await says(id, 401);
    const sealedKey = await seal(
      new Secret(`${KEY}2`),
      await app.intake.current(),
      intakePurpose(tenant.organizationId),
    );
    expect((await app.credentials.update({ ...tenant, id, sealedKey })).lastError).toBeNull();
    expect(await says(id, 401, 1)).toBe(false);
    expect(await seen(id)).toBeNull();
    expect(await says(id, 401, 2)).toBe(true);
  });

  it('keeps it through a change of anything else', async () => {
    const { id } = await create();
    await says(id, 401);
    expect((await app.credentials.update({ ...tenant, id, name: 'n' })).lastError).toMatchObject({ status: 401 });
  });

  it('hears nobody from another workspace', async () => {
    const { id } = await create();
    const { organizationId, workspaceId } = tenants[1]!;
    expect(await says(id, 401, 1, tenants[1]!)).toBe(false);
    expect(await says(id, 401, 1, { ...tenant, workspaceId })).toBe(false);
    expect(await says(id, 401, 1, { ...tenant, organizationId })).toBe(false);
    expect(await seen(id)).toBeNull();
  });
});

describe(RewrappingService.name, () => {
  beforeEach(() => dataSource.manager.clear(CredentialEntity));

  it('wraps every credential anew while they are read, and then the old key is not needed', async () => {
    const made = await Promise.all(Array.from({ length: 30 }, (_, index) => create({ key: `${KEY}-${index}` })));
    const during = appWith(newer, older);
    const reads = made.flatMap((one) => [open(one, tenant, during), open(one, tenant, during)]);
    let afterId: string | null = null;
    let rewrapped = 0;
    do {
      const page = await during.rewrapping.rewrapPage({ afterId, keyId: newer.id, limit: 7 });
      rewrapped += page.rewrapped;
      reads.push(...made.map((one) => open(one, tenant, during)));
      ({ lastId: afterId } = page);
      if (afterId === null) expect(page).toMatchObject({ remaining: 0, failedIds: [], keyId: newer.id });
    } while (afterId !== null);
    expect(rewrapped).toBe(30);
    expect((await Promise.all(reads)).every((key) => key.startsWith(KEY))).toBe(true);
    const after = appWith(newer);
    for (const [index, one] of made.entries()) expect(await open(one, tenant, after)).toBe(`${KEY}-${index}`);
    expect(await outcomeOf(open(made[0]!))).toBe('server: Internal error');
  });

  it('leaves what cannot be opened as it is, says so, and goes on', async () => {
    const [broken, sound] = [await create(), await create()];
    await dataSource.query("UPDATE credentials SET wrapped_data_key = '\\x00' WHERE id = $1", [broken.id]);
    const during = appWith(newer, older);
    const report = { rewrapped: 1, failedIds: [broken.id], lastId: null, remaining: 1, keyId: newer.id };
    expect(await during.rewrapping.rewrapPage({ limit: 100 })).toEqual(report);
    expect(await open(sound, tenant, appWith(newer))).toBe(KEY);
    expect(await during.rewrapping.rewrapPage({ limit: 100 })).toEqual({ ...report, rewrapped: 0 });
  });

  it('touches no row whose key was changed or deleted after it was read', async () => {
    const [changed, deleted] = [await create(), await create()];
    const during = appWith(newer, older);
    const page = await during.sealed.findWrappedOtherwise(newer.id, null, 10);
    const sealedKey = await seal(
      new Secret(`${KEY}-2`),
      await app.intake.current(),
      intakePurpose(tenant.organizationId),
    );
    await app.credentials.update({ ...tenant, id: changed.id, sealedKey });
    await app.credentials.delete({ ...tenant, id: deleted.id });
    const late = page.map(({ id, wrappedDataKey }) => ({ id, before: wrappedDataKey, after: Buffer.from('late') }));
    expect(await during.sealed.rewrap(newer.id, late)).toBe(0);
    expect(await open(changed)).toBe(`${KEY}-2`);
  });

  it('refuses to go on in a process that has another current key', async () => {
    expect(await outcomeOf(app.rewrapping.rewrapPage({ keyId: newer.id, limit: 10 }))).toMatch(/^conflict: /);
  });
});

describe('a ring that names a key management service', () => {
  const managed = parseManagedKeyName('vault-transit://byok');

  it('takes over the keys of a ring without one, and is enough then', async () => {
    const credential = await create();
    const during = appWith(managed, older);
    expect(await open(credential, tenant, during)).toBe(KEY);
    const report = await during.rewrapping.rewrapPage({ limit: 1_000 });
    expect(report).toMatchObject({ keyId: 'vault-transit://byok', failedIds: [] });
    const after = appWith(managed);
    expect(await open(credential, tenant, after)).toBe(KEY);
    expect(await outcomeOf(open(credential))).toMatch(/^server: /);
  });

  it('lets any process open what was sealed on its way in for another', async () => {
    await dataSource.query('DELETE FROM intake_seeds');
    const processes = [1, 2, 3, 4].map(() => appWith(managed));
    const keys = await Promise.all(processes.map(({ intake }) => intake.current()));
    expect(new Set(keys.map(({ publicKey }) => publicKey)).size).toBe(1);
    const credential = await create({}, processes[0]);
    expect(await open(credential, tenant, processes[3])).toBe(KEY);
    const sent = keyService.asked.map(({ text }) => text).join();
    expect(sent).not.toContain(Buffer.from(KEY).toString('base64').slice(4, 20));
  });

  it('says that it cannot now while the service is away, and goes on when it is back', async () => {
    const credential = await create({}, appWith(managed));
    const fresh = appWith(managed);
    keyService.failures = { status: 503, count: 4 };
    expect(await outcomeOf(open(credential, tenant, fresh))).toMatch(/^provider_unavailable: /);
    expect(await outcomeOf(fresh.intake.current())).toMatch(/^provider_unavailable: /);
    expect(await open(credential, tenant, fresh)).toBe(KEY);
    expect(await outcomeOf(fresh.intake.current())).toBe('done');
  });
});
