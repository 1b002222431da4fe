import { randomUUID } from 'node:crypto';
import { OutboxRepository } from '../outbox/outbox.repository';
import { openTestDatabase, type OpenTestDatabase } from '../testing/test-database';
import { WebhookDeliveriesRepository, type ClaimedWebhook } from './webhook-deliveries.repository';

describe(WebhookDeliveriesRepository.name, () => {
  let open: OpenTestDatabase;
  let repository: WebhookDeliveriesRepository;

  beforeAll(async () => {
    open = await openTestDatabase();
    repository = new WebhookDeliveriesRepository(open.database, new OutboxRepository(open.database));
  });

  afterAll(() => open.close());

  beforeEach(() => open.database.execute({ sql: 'TRUNCATE webhook_deliveries, outbox' }));

  const enqueue = (id: string, url = 'https://receiver.example/hook', payload: object = { id }): Promise<boolean> =>
    open.database.transaction((session) =>
      repository.enqueue(session, {
        id,
        organizationId: randomUUID(),
        workspaceId: randomUUID(),
        url,
        type: 'batch.completed',
        payload,
      }),
    );

  const claim = (
    bounds: Partial<{ limit: number; perHost: number; leaseMs: number }> = {},
  ): Promise<ClaimedWebhook[]> => repository.claim({ limit: 10, perHost: 5, leaseMs: 60_000, ...bounds });

  const row = (id: string) =>
    open.database.firstRow<Record<string, unknown>>({
      sql: 'SELECT * FROM webhook_deliveries WHERE id = $1',
      values: [id],
    });

  const setBack = (column: string, interval: string, id = 'one') =>
    open.database.execute({
      sql: `UPDATE webhook_deliveries SET ${column} = now() - interval '${interval}' WHERE id = $1`,
      values: [id],
    });

  it('owes an event once however often it is announced, and nudges once', async () => {
    expect([await enqueue('batch-1-completed'), await enqueue('batch-1-completed')]).toEqual([true, false]);
    const nudges = await open.database.rows({ sql: 'SELECT contract, payload FROM outbox' });
    expect(nudges).toEqual([{ contract: 'webhooks.deliver-webhook', payload: { deliveryId: 'batch-1-completed' } }]);
  });

  it('owes nothing when the transaction that made the event true is rolled back', async () => {
    await expect(
      open.database.transaction(async (session) => {
        await repository.enqueue(session, {
          id: 'never',
          organizationId: randomUUID(),
          workspaceId: randomUUID(),
          url: 'https://receiver.example/',
          type: 'batch.completed',
          payload: {},
        });
        throw new Error('it did not happen');
      }),
    ).rejects.toThrow('it did not happen');
    expect(await claim()).toEqual([]);
    expect(await open.database.rows({ sql: 'SELECT 1 FROM outbox' })).toEqual([]);
  });

  it('hands out what is stored, byte for byte, with a null character in it too', async () => {
    await enqueue('one', 'https://receiver.example:8443/hook?a=b', { b: 'x\u0000y', a: 1.5 });
    const [claimed] = await claim();
    expect(claimed).toMatchObject({ id: 'one', url: 'https://receiver.example:8443/hook?a=b', attempts: 1 });
    expect(claimed!.payload).toBe('{"b":"x\\u0000y","a":1.5}');
    expect((await row('one'))!.host).toBe('receiver.example:8443');
  });

  it('hands a delivery to one worker at a time, and to the next when its lease has run out', async () => {
    await enqueue('one');
    const [first] = await claim();
    expect(await claim()).toEqual([]);
    await setBack('lease_until', '1 second');
    const [second] = await claim();
    expect(second).toMatchObject({ id: 'one', attempts: 2 });
    expect(await repository.markDelivered(first!, 200)).toBe(false);
    expect(await repository.markDelivered(second!, 204)).toBe(true);
    expect(await row('one')).toMatchObject({ last_status: 204, given_up_at: null, delivered_at: expect.any(Date) });
  });

  it('gives two workers that claim at once different deliveries', async () => {
    for (let index = 0; index < 20; index += 1) await enqueue(`event-${index}`, `https://r${index}.example/`);
    const claims = await Promise.all([claim({ limit: 15 }), claim({ limit: 15 }), claim({ limit: 15 })]);
    const ids = claims.flat().map(({ id }) => id);
    expect(ids).toHaveLength(20);
    expect(new Set(ids).size).toBe(20);
  });

  it('takes of each host only as many as there is room for, so that none holds the others back', async () => {
    for (let index = 0; index < 30; index += 1) await enqueue(`busy-${index}`, 'https://busy.example/');
    await enqueue('quiet', 'https://quiet.example/');
    const taken = await claim({ limit: 10, perHost: 4 });
    expect(taken.map(({ id }) => id).toSorted()).toEqual(['busy-0', 'busy-1', 'busy-2', 'busy-3', 'quiet']);
    expect(await claim({ limit: 10, perHost: 4 })).toEqual([]);
    await repository.markDelivered(
      taken.find(({ id }) => id === 'busy-0')!,
      200,
    );
    expect((await claim({ limit: 10, perHost: 4 })).map(({ id }) => id)).toEqual(['busy-4']);
  });

  it('waits as long as it was told before the next attempt', async () => {
    await enqueue('one');
    const [first] = await claim();
    expect(await repository.postpone(first!, { status: 503, error: 'it answered with 503' }, 60_000)).toBe(true);
    expect(await claim()).toEqual([]);
    expect(await row('one')).toMatchObject({ last_status: 503, last_error: 'it answered with 503', lease_until: null });
    await setBack('next_attempt_at', '1 second');
    expect(await claim()).toMatchObject([{ id: 'one', attempts: 2 }]);
  });

  it('never hands out again what was given up', async () => {
    await enqueue('one');
    const [claimed] = await claim();
    expect(await repository.giveUp(claimed!, { status: 410, error: 'gone' })).toBe(true);
    await setBack('next_attempt_at', '1 day');
    expect(await claim()).toEqual([]);
    expect(await row('one')).toMatchObject({ delivered_at: null, given_up_at: expect.any(Date), last_status: 410 });
  });

  it('takes an attempt that was given back as not made, and its owner for gone', async () => {
    await enqueue('one');
    const [first] = await claim();
    await repository.release([first!]);
    const [second] = await claim();
    expect(second!.attempts).toBe(1);
    expect(await repository.postpone(first!, { status: null, error: 'late' }, 0)).toBe(false);
  });

  it('forgets what ended long ago and keeps what is owed', async () => {
    for (const id of ['delivered', 'given-up', 'fresh', 'pending']) await enqueue(id);
    const claimed = await claim();
    const of = (id: string) => claimed.find((one) => one.id === id)!;
    await repository.markDelivered(of('delivered'), 200);
    await repository.giveUp(of('given-up'), { status: 500, error: 'it answered with 500' });
    await setBack('delivered_at', '31 days', 'delivered');
    await setBack('given_up_at', '31 days', 'given-up');
    await repository.markDelivered(of('fresh'), 200);
    expect(await repository.purgeEnded(30)).toBe(2);
    expect(await row('fresh')).not.toBeNull();
    expect(await row('pending')).not.toBeNull();
    expect(await repository.countPending()).toBe(1);
  });
});
