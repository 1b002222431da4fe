import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { AdvanceBatch, allContracts } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { OutboxRepository } from '@libs/persistence';
import { openTestDatabase, type OpenTestDatabase } from '@libs/persistence/testing';
import { OutboxRelay } from '@libs/platform';

/** As long as the publisher waits for a confirm, and as PostgreSQL leaves a transaction idle. */
const CONFIRM_TIMEOUT_MS = 10_000;

describe('the outbox of PostgreSQL', () => {
  let opened: OpenTestDatabase;
  let outbox: OutboxRepository;
  const relays: OutboxRelay[] = [];

  beforeEach(async () => {
    Logger.overrideLogger(false);
    opened = await openTestDatabase();
    outbox = new OutboxRepository(opened.database);
  });

  afterEach(async () => {
    await Promise.all(relays.splice(0).map((relay) => relay.stop()));
    await opened.close();
  });

  async function add(count: number): Promise<void> {
    await opened.database.transaction(async (session) => {
      for (let index = 0; index < count; index += 1) {
        await outbox.add(session, AdvanceBatch, { batchId: `batch-${index}`, workspaceId: 'w' } as never);
      }
    });
  }

  async function left(): Promise<number> {
    const row = await opened.database.firstRow<{ n: number }>({ sql: 'SELECT count(*)::integer AS n FROM outbox' });
    return row!.n;
  }

  async function until(isSo: () => Promise<boolean>, withinMs: number): Promise<boolean> {
    const deadlineMs = performance.now() + withinMs;
    while (performance.now() < deadlineMs) {
      if (await isSo()) return true;
      await delay(50);
    }
    return isSo();
  }

  function relayWith(send: (id: string) => Promise<void>): OutboxRelay {
    const relay = new OutboxRelay(outbox, { send: (_contract, _payload, id = '') => send(id) }, allContracts);
    relays.push(relay);
    return relay;
  }

  const neverConfirmed = async (): Promise<void> => {
    await delay(CONFIRM_TIMEOUT_MS + 50);
    throw new AppError('server', 'Internal error', { internal: 'no confirm' });
  };

  it('loses what was confirmed, and gets more sent, while one message waits for a confirm that never comes', async () => {
    await add(500);
    const sent: string[] = [];
    let stuck: string | undefined;
    const relay = relayWith((id) => {
      stuck ??= id;
      if (id === stuck) return neverConfirmed();
      sent.push(id);
      return Promise.resolve();
    });
    relay.start();
    expect(await until(async () => (await left()) === 1, 5_000)).toBe(true);
    await add(100);
    relay.wake();
    expect(await until(async () => (await left()) === 1, 5_000)).toBe(true);
    const isCounted = async (): Promise<boolean> => (await outbox.measure(1)).stuck === 1;
    expect(await until(isCounted, CONFIRM_TIMEOUT_MS + 5_000)).toBe(true);
    expect(new Set(sent).size).toBe(599);
    expect(sent).toHaveLength(599);
  }, 40_000);

  it('is sent once by two relays at a time', async () => {
    await add(1_200);
    const sent: string[] = [];
    const send = async (id: string): Promise<void> => void sent.push(id);
    for (const relay of [relayWith(send), relayWith(send)]) relay.start();
    expect(await until(async () => (await left()) === 0, 10_000)).toBe(true);
    expect(sent).toHaveLength(1_200);
    expect(new Set(sent).size).toBe(1_200);
  });
});
