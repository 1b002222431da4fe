import { randomUUID } from 'node:crypto';
import { OutboxRepository } from '../outbox/outbox.repository';
import { openTestDatabase, type OpenTestDatabase } from '../testing/test-database';
import { WebhookDeliveriesRepository } from './webhook-deliveries.repository';
import type { ClaimBounds, ClaimedWebhook } from './webhook-delivery';

const ORGANIZATION = randomUUID();
const OTHER_ORGANIZATION = randomUUID();

describe(WebhookDeliveriesRepository.name, () => {
  let open: OpenTestDatabase;
  let repository: WebhookDeliveriesRepository;

  beforeAll(async () => {
    open = await openTestDatabase();
    repository = new WebhookDeliveriesRepository(open.database, new OutboxRepository(open.database));
  });

  afterAll(() => open.close());

  beforeEach(() => open.database.execute({ sql: 'TRUNCATE webhook_deliveries, outbox' }));

  const enqueue = (
    id: string,
    url = 'https://receiver.example/hook',
    payload: object = { id },
    organizationId = ORGANIZATION,
  ): Promise<boolean> =>
    open.database.transaction((session) =>
      repository.enqueue(session, {
        id,
        organizationId,
        workspaceId: randomUUID(),
        url,
        type: 'batch.completed',
        payload,
      }),
    );

  const claim = (bounds: Partial<ClaimBounds> = {}): Promise<ClaimedWebhook[]> => {
    const most = { limit: 10, perHost: 5, perOrganization: 100, perOrganizationAtHost: 100 };
    return repository.claim({ ...most, leaseMs: 60_000, ...bounds });
  };

  const ids = (claimed: readonly ClaimedWebhook[]): string[] => claimed.map(({ id }) => id).toSorted();

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
    expect(second).toMatchObject({ id: 'one', attempts: 1, deaths: 1 });
    expect(await repository.markDelivered(first!, 200)).toBe(false);
    expect(await repository.markDelivered(second!, 204)).toBe(true);
    expect(await row('one')).toMatchObject({ last_status: 204, given_up_at: null, delivered_at: expect.any(Date) });
  });

  /** As by a worker that dies in the attempt. */
  async function die(): Promise<number> {
    const [claimed] = await claim();
    await setBack('lease_until', '1 second');
    return claimed === undefined ? 0 : 1;
  }

  it('counts no attempt for a worker that died in one, and forgets the deaths at the next end of an attempt', async () => {
    await enqueue('one');
    for (let death = 0; death < 10; death += 1) expect(await die()).toBe(1);
    const [claimed] = await claim();
    expect(claimed).toMatchObject({ attempts: 1, deaths: 10 });
    await repository.postpone(claimed!, { status: 503, error: 'it answered with 503' }, 0);
    expect(await claim()).toMatchObject([{ attempts: 2, deaths: 0 }]);
  });

  it('hands out ever more rarely what its workers do not survive', async () => {
    await enqueue('one');
    const rests: number[] = [];
    for (let death = 0; death < 24; death += 1) {
      expect(await die()).toBe(1);
      const { next_attempt_at: next } = (await row('one')) as { next_attempt_at: Date };
      rests.push(Math.max(0, next.getTime() - Date.now()));
      await setBack('next_attempt_at', '1 second');
    }
    expect(rests.slice(0, 10).every((rest) => rest === 0)).toBe(true);
    // Of a lease of a minute, and by the clocks of two hosts.
    expect(rests[10]).toBeGreaterThan(60_000);
    expect(rests[11]).toBeGreaterThan(2 * 60_000);
    expect(rests[23]).toBeGreaterThan(40 * 60_000);
    expect(rests[23]).toBeLessThan(61 * 60_000);
  });

  it('gives two workers that claim at once different deliveries', async () => {
    for (let index = 0; index < 20; index += 1) await enqueue(`event-${index}`, `https://r${index}.example/`);
    const claims = await Promise.all([claim({ limit: 15 }), claim({ limit: 15 }), claim({ limit: 15 })]);
    // Who sorts what is due has it all in hand for a moment, and may leave the others nothing but the next time.
    claims.push(await claim({ limit: 15 }));
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

  it('takes of each organization only as many as there is room for, however many hosts it names', async () => {
    for (let index = 0; index < 30; index += 1) await enqueue(`many-${index}`, `https://r${index}.example/`);
    const taken = await claim({ limit: 10, perOrganization: 6 });
    expect(taken).toHaveLength(6);
    await enqueue('other', 'https://quiet.example/', {}, OTHER_ORGANIZATION);
    expect(ids(await claim({ perOrganization: 6 }))).toEqual(['other']);
    await repository.markDelivered(taken[0]!, 200);
    expect(await claim({ perOrganization: 6 })).toHaveLength(1);
  });

  it('leaves a place at a host to another organization', async () => {
    for (let index = 0; index < 30; index += 1) await enqueue(`many-${index}`);
    const bounds = { perHost: 5, perOrganizationAtHost: 4 };
    expect(await claim(bounds)).toHaveLength(4);
    for (const id of ['other', 'second']) await enqueue(id, undefined, {}, OTHER_ORGANIZATION);
    expect(ids(await claim(bounds))).toEqual(['other']);
    expect(await claim(bounds)).toEqual([]);
  });

  it('gives no place at a host to an event that its organization has no room for', async () => {
    await enqueue('busy', 'https://silent.example/');
    await enqueue('behind', 'https://shared.example/');
    await enqueue('other', 'https://shared.example/', {}, OTHER_ORGANIZATION);
    expect(ids(await claim({ perHost: 1, perOrganization: 1 }))).toEqual(['busy', 'other']);
  });

  it('gives a place at a host to the event that waits longest, whatever its organization has under way elsewhere', async () => {
    await enqueue('elsewhere', 'https://slow.example/');
    expect(await claim()).toHaveLength(1);
    await enqueue('older', 'https://shared.example/');
    await enqueue('newer', 'https://shared.example/', {}, OTHER_ORGANIZATION);
    expect(ids(await claim({ perHost: 1 }))).toEqual(['older']);
  });

  it('gives a place at a host in the end to an event behind many older ones of several organizations', async () => {
    for (let index = 0; index < 5; index += 1) {
      const organization = randomUUID();
      for (let event = 0; event < 40; event += 1) {
        await enqueue(`${index}-${event}`, 'https://s.example/', {}, organization);
      }
    }
    await enqueue('other', 'https://s.example/', {}, OTHER_ORGANIZATION);
    const sql = `UPDATE webhook_deliveries SET next_attempt_at = now() - make_interval(secs => $1) WHERE (id = 'other') = $2`;
    await open.database.execute({ sql, values: [3_600, false] });
    await open.database.execute({ sql, values: [20, true] });
    let claims = 0;
    for (let isServed = false; !isServed; claims += 1) {
      expect(claims).toBeLessThan(195);
      const [taken] = await claim({ perHost: 1 });
      await repository.markDelivered(taken!, 200);
      isServed = taken!.id === 'other';
    }
  });

  it('takes turns between organizations, the one with the fewest under way first', async () => {
    for (let index = 0; index < 30; index += 1) await enqueue(`many-${index}`, `https://r${index}.example/`);
    expect(await claim({ limit: 3 })).toHaveLength(3);
    for (let index = 0; index < 9; index += 1) {
      await enqueue(`few-${index}`, `https://q${index}.example/`, {}, OTHER_ORGANIZATION);
    }
    const taken = await claim({ limit: 5 });
    expect(taken.filter(({ id }) => id.startsWith('few-'))).toHaveLength(4);
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
    await repository.release(first!, 0);
    const [second] = await claim();
    expect(second!.attempts).toBe(1);
    expect(await repository.postpone(first!, { status: null, error: 'late' }, 0)).toBe(false);
  });

  it('owes an event anew under its id when the operator says so, whatever became of it', async () => {
    await enqueue('one');
    const [first] = await claim();
    await repository.giveUp(first!, { status: 410, error: 'gone' });
    expect(await repository.redeliver('one')).toBe(true);
    expect(await claim()).toMatchObject([{ id: 'one', attempts: 1 }]);
    expect(await repository.markDelivered(first!, 200)).toBe(false);
    expect(await open.database.rows({ sql: 'SELECT 1 FROM outbox' })).toHaveLength(2);
    expect(await repository.redeliver('another')).toBe(false);
  });

  describe('held back', () => {
    const HOLD = { delayMs: 60_000, lifetimeMs: 75 * 3_600_000 };

    it('waits with all that is due at its URL, and none of them has lost an attempt', async () => {
      for (let index = 0; index < 8; index += 1) await enqueue(`dead-${index}`, 'https://shared.example/dead');
      await enqueue('alive', 'https://shared.example/alive');
      const [first] = await claim({ limit: 1 });
      expect(await repository.holdBack(first!, HOLD)).toBe(8);
      const rest = await claim();
      expect(rest.map(({ id }) => id)).toEqual(['alive']);
      await open.database.execute({ sql: 'UPDATE webhook_deliveries SET next_attempt_at = now()' });
      const again = await claim({ limit: 20, perHost: 20 });
      expect(again.map(({ attempts }) => attempts)).toEqual(Array.from({ length: 8 }, () => 1));
    });

    it('does not make another organization wait that has the same URL', async () => {
      for (const id of ['one', 'two']) await enqueue(id);
      await enqueue('other', undefined, {}, OTHER_ORGANIZATION);
      const claimed = await claim({ limit: 3, perOrganizationAtHost: 1 });
      expect(
        await repository.holdBack(
          claimed.find(({ id }) => id === 'one')!,
          HOLD,
        ),
      ).toBe(2);
      await repository.release(
        claimed.find(({ id }) => id === 'other')!,
        0,
      );
      expect(ids(await claim())).toEqual(['other']);
    });

    it('leaves alone what is under way, what waits for later and what the operator sent', async () => {
      const url = 'https://dead.example/';
      for (const id of ['one', 'under-way', 'later', 'by-hand']) await enqueue(id, url);
      const claimed = await claim();
      const of = (id: string) => claimed.find((each) => each.id === id)!;
      await repository.postpone(of('later'), { status: 500, error: 'failed' }, 3_600_000);
      await repository.redeliver('by-hand');
      expect(await repository.holdBack(of('one'), HOLD)).toBe(1);
      expect(await claim()).toMatchObject([{ id: 'by-hand', attempts: 1, isByHand: true }]);
      expect(await repository.markDelivered(of('under-way'), 204)).toBe(true);
      const next = (await row('later'))!['next_attempt_at'] as Date;
      expect(next.getTime() - Date.now()).toBeGreaterThan(3_000_000);
    });

    it('moves nothing for a worker whose claim has passed to another', async () => {
      await enqueue('one');
      await enqueue('two');
      const [first] = await claim({ limit: 1 });
      await setBack('lease_until', '1 second', first!.id);
      await claim({ limit: 1 });
      expect(await repository.holdBack(first!, HOLD)).toBe(0);
      expect(await row(first!.id)).toMatchObject({ attempts: expect.any(Number), lease_until: expect.any(Date) });
    });

    it('leaves what has been owed for too long to be claimed and ended', async () => {
      for (const id of ['one', 'old']) await enqueue(id);
      await setBack('created_at', '75 hours', 'old');
      await setBack('next_attempt_at', '1 minute', 'one');
      const [first] = await claim({ limit: 1 });
      expect(await repository.holdBack(first!, HOLD)).toBe(1);
      const [overdue] = (await claim()) as [ClaimedWebhook];
      expect(overdue).toMatchObject({ id: 'old', owedForMs: expect.any(Number) });
      expect(overdue.owedForMs).toBeGreaterThanOrEqual(75 * 3_600_000);
      expect(await repository.giveUpUntried(overdue, 'too late')).toBe(true);
      expect(await row('old')).toMatchObject({ attempts: 0, given_up_at: expect.any(Date), last_error: 'too late' });
    });

    it('is owed from the moment on at which the operator sent it again', async () => {
      await enqueue('one');
      await setBack('created_at', '100 hours');
      await repository.redeliver('one');
      const [claimed] = await claim();
      expect(claimed!.owedForMs).toBeLessThan(60_000);
      await repository.postpone(claimed!, { status: 500, error: 'failed' }, 0);
      expect(await claim()).toMatchObject([{ attempts: 2, isByHand: false }]);
    });
  });

  it('lists events by what became of them, and nothing of what they say', async () => {
    for (const id of ['delivered', 'given-up', 'pending']) await enqueue(id, 'https://r.example/canary', { canary: 1 });
    const claimed = await claim();
    await repository.markDelivered(
      claimed.find(({ id }) => id === 'delivered')!,
      200,
    );
    await repository.giveUp(
      claimed.find(({ id }) => id === 'given-up')!,
      { status: 410, error: 'gone' },
    );
    const idsOf = async (state: 'pending' | 'delivered' | 'given up' | null, limit = 10) =>
      (await repository.list({ state, workspaceId: null, limit })).map(({ id }) => id);
    expect(await idsOf(null)).toEqual(['pending', 'given-up', 'delivered']);
    expect(await idsOf(null, 1)).toEqual(['pending']);
    expect(await idsOf('given up')).toEqual(['given-up']);
    expect(await repository.list({ state: null, workspaceId: randomUUID(), limit: 10 })).toEqual([]);
    expect(JSON.stringify(await repository.list({ state: null, workspaceId: null, limit: 10 }))).not.toContain(
      'canary',
    );
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
    expect(await repository.purgeEnded(30)).toBe(0);
    for (const id of ['delivered', 'given-up', 'pending']) await setBack('created_at', '31 days', id);
    expect(await repository.purgeEnded(30)).toBe(2);
    expect(await row('fresh')).not.toBeNull();
    expect(await row('pending')).not.toBeNull();
    expect(await repository.countPending()).toBe(1);
  });
});
