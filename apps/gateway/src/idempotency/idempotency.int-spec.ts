import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { AppError } from '@libs/errors';
import { createDataSource, Database, SingleRunner } from '@libs/persistence';
import { createTestDatabase, type TestDatabase } from '@libs/persistence/testing';
import type { DataSource } from 'typeorm';
import { IdempotencyKeysRepository } from './idempotency-keys.repository';
import { IdempotencyPurge } from './idempotency-purge';
import { IdempotencyService, type IdempotentRequest } from './idempotency.service';

const PROVIDER_KEY = 'provider-key-nobody-may-see';
const CODE = 'code-nobody-may-see';

describe(IdempotencyService.name, () => {
  let testDatabase: TestDatabase;
  let dataSource: DataSource;
  let database: Database;
  let keys: IdempotencyKeysRepository;
  let service: IdempotencyService;

  beforeAll(async () => {
    Logger.overrideLogger(false);
    testDatabase = await createTestDatabase();
    dataSource = await createDataSource({ url: testDatabase.url }).initialize();
    database = new Database(dataSource);
    keys = new IdempotencyKeysRepository(database);
    service = new IdempotencyService(keys);
  });

  afterAll(async () => {
    await dataSource?.destroy();
    await testDatabase?.drop();
  });

  const newRequest = (members: Partial<IdempotentRequest> = {}): IdempotentRequest => ({
    organizationId: randomUUID(),
    route: 'POST /things',
    key: 'k-1',
    body: Buffer.from(`{"key":"${PROVIDER_KEY}"}`),
    sealWith: 'sk-sluice-v1-secret',
    ...members,
  });

  /** Returns an effect that counts how often it is run. */
  function work(answer: unknown = { data: { id: CODE } }) {
    const effects: string[] = [];
    const run = async (effectId: string): Promise<unknown> => {
      effects.push(effectId);
      return answer;
    };
    return { effects, run };
  }

  const age = (interval: string): Promise<number> =>
    database.execute({ sql: `UPDATE idempotency_keys SET created_at = created_at - $1::interval`, values: [interval] });

  it('has a table that its entity would not change', async () => {
    const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
    expect(upQueries.map(({ query }) => query)).toEqual([]);
  });

  it.each(['sk-sluice-v1-secret', null])(
    'does once what is asked for twice, and answers alike (sealed with %s)',
    async (sealWith) => {
      const request = newRequest({ sealWith });
      const { effects, run } = work();
      expect(await service.once(request, run)).toEqual({ answer: { data: { id: CODE } }, isReplayed: false });
      expect(await service.once({ ...request }, run)).toEqual({ answer: { data: { id: CODE } }, isReplayed: true });
      expect(effects).toHaveLength(1);
    },
  );

  it('keeps no secret of a request or an answer, nor the key itself', async () => {
    await service.once(newRequest({ key: 'a key of its caller' }), work().run);
    const rows = await database.rows<{ row: string }>({
      sql: `SELECT k::text || encode(request_digest, 'escape') || encode(coalesce(answer, ''), 'escape') AS row
            FROM idempotency_keys AS k`,
    });
    const hex = (text: string): string => Buffer.from(text).toString('hex');
    const all = rows.filter((_, index) => index >= 0).map(({ row }) => row);
    expect(all.length).toBeGreaterThan(0);
    const sealed = await database.firstRow<{ row: string }>({
      sql: `SELECT k::text AS row FROM idempotency_keys AS k ORDER BY created_at DESC LIMIT 1`,
    });
    for (const secret of [PROVIDER_KEY, CODE, 'a key of its caller']) {
      expect(sealed?.row).not.toContain(secret);
      expect(sealed?.row).not.toContain(hex(secret));
    }
  });

  it('refuses another body or another credential under the same key, and does nothing', async () => {
    const request = newRequest();
    await service.once(request, work().run);
    for (const other of [{ body: Buffer.from('{}') }, { sealWith: 'sk-sluice-v1-other' }]) {
      const { effects, run } = work();
      await expect(service.once({ ...request, ...other }, run)).rejects.toMatchObject({ code: 'unprocessable' });
      expect(effects).toEqual([]);
    }
  });

  it('takes the same key elsewhere for another one', async () => {
    const request = newRequest();
    const { effects, run } = work();
    await service.once(request, run);
    await service.once({ ...request, route: 'POST /other-things' }, run);
    await service.once({ ...request, organizationId: randomUUID() }, run);
    await service.once({ ...request, key: 'k-2' }, run);
    expect(new Set(effects).size).toBe(4);
  });

  it('does once what is asked for fifty times at once', async () => {
    const request = newRequest();
    const effects: string[] = [];
    const slowly = async (effectId: string): Promise<unknown> => {
      effects.push(effectId);
      await new Promise((resolve) => setTimeout(resolve, 100));
      return { data: CODE };
    };
    const outcomes = await Promise.allSettled(Array.from({ length: 50 }, () => service.once(request, slowly)));
    expect(effects).toHaveLength(1);
    for (const outcome of outcomes) {
      if (outcome.status === 'fulfilled') expect(outcome.value.answer).toEqual({ data: CODE });
      else expect(outcome.reason).toMatchObject({ status: 409, retryAfterSeconds: 1 });
    }
    expect((await service.once(request, slowly)).isReplayed).toBe(true);
  });

  it('frees the key of what was refused, for whatever the caller asks for next', async () => {
    const request = newRequest();
    const refused = async (): Promise<never> => {
      throw new AppError('invalid_request', 'No such thing');
    };
    await expect(service.once(request, refused)).rejects.toMatchObject({ status: 400 });
    const corrected = await service.once({ ...request, body: Buffer.from('{"right":true}') }, work().run);
    expect(corrected.isReplayed).toBe(false);
  });

  it('tries again what ended nobody knows how, under the same effect id, and nothing else under that key', async () => {
    const request = newRequest();
    const effects: string[] = [];
    const lost = async (effectId: string): Promise<never> => {
      effects.push(effectId);
      throw new AppError('timeout', 'No answer');
    };
    await expect(service.once(request, lost)).rejects.toMatchObject({ status: 504 });
    await expect(service.once({ ...request, body: Buffer.from('{}') }, lost)).rejects.toMatchObject({ status: 422 });
    const again = work();
    expect((await service.once(request, again.run)).isReplayed).toBe(false);
    expect(again.effects).toEqual(effects);
  });

  it('lets the attempt of a process that died be repeated when its lease is over, and fences what it still writes', async () => {
    const slot = { organizationId: randomUUID(), route: 'POST /things', keyHash: Buffer.alloc(32, 1) };
    const digest = Buffer.alloc(32, 2);
    const [first, second] = [randomUUID(), randomUUID()];
    const dead = await keys.claim(slot, digest, first, 60_000);
    expect(await keys.claim(slot, digest, second, 60_000)).toBeNull();
    await database.execute({ sql: `UPDATE idempotency_keys SET lease_until = now() - interval '1 second'` });
    expect(await keys.claim(slot, Buffer.alloc(32, 3), second, 60_000)).toBeNull();
    const next = await keys.claim(slot, digest, second, 60_000);
    expect(next).toEqual({ effectId: first, attempt: 2 });
    expect(await keys.keepAnswer(slot, dead!, Buffer.from('late'))).toBe(false);
    await keys.forget(slot, dead!);
    expect(await keys.keepAnswer(slot, next!, Buffer.from('good'))).toBe(true);
    expect((await keys.find(slot))?.answer?.toString()).toBe('good');
  });

  it('forgets a key after 24 hours and not before, whether its row is still there or not', async () => {
    const request = newRequest();
    await service.once(request, work().run);
    await age('23 hours 59 minutes');
    expect((await service.once(request, work().run)).isReplayed).toBe(true);
    await age('2 minutes');
    const renewed = work();
    expect((await service.once({ ...request, body: Buffer.from('{}') }, renewed.run)).isReplayed).toBe(false);
    expect(renewed.effects).toHaveLength(1);
    await age('25 hours');
    await service.once(newRequest({ key: 'young' }), work().run);
    await new IdempotencyPurge(keys, new SingleRunner(database)).purge();
    const left = await database.firstRow<{ count: string }>({ sql: 'SELECT count(*) FROM idempotency_keys' });
    expect(left?.count).toBe('1');
  });
});
