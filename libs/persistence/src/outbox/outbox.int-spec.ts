import { IsString } from 'class-validator';
import { job, queues } from '@libs/contracts';
import { openTestDatabase, type OpenTestDatabase } from '../testing';
import { OutboxRepository, type PendingMessage } from './outbox.repository';

class RunBatch {
  @IsString()
  batchId: string;
}

const contract = job({ queue: queues.batches, name: 'batches.run', payload: RunBatch });

describe(OutboxRepository.name, () => {
  let opened: OpenTestDatabase;
  let outbox: OutboxRepository;

  beforeAll(async () => {
    opened = await openTestDatabase();
    outbox = new OutboxRepository(opened.database);
  });

  afterAll(() => opened.close());

  beforeEach(() => opened.database.execute({ sql: 'TRUNCATE outbox' }));

  async function add(...batchIds: string[]): Promise<void> {
    await opened.database.transaction(async (session) => {
      for (const batchId of batchIds) await outbox.add(session, contract, { batchId });
    });
  }

  const idsOf = (messages: readonly PendingMessage[]): ReadonlySet<string> => new Set(messages.map(({ id }) => id));

  /** What a relay finds now; it confirms nothing. */
  async function found(limit = 10): Promise<unknown[]> {
    let all: readonly PendingMessage[] = [];
    await outbox.relayPending(limit, async (messages) => {
      all = messages;
      return new Set();
    });
    return all.map(({ payload }) => (payload as RunBatch).batchId);
  }

  it('shows a message to nobody before the transaction that it speaks of has committed', async () => {
    await opened.database.transaction(async (session) => {
      await outbox.add(session, contract, { batchId: 'one' });
      expect(await found()).toEqual([]);
    });
    expect(await found()).toEqual(['one']);
  });

  it('keeps no message of a transaction that was taken back', async () => {
    const failing = opened.database.transaction(async (session) => {
      await outbox.add(session, contract, { batchId: 'never' });
      throw new Error('refused');
    });
    await expect(failing).rejects.toThrow('refused');
    expect(await found()).toEqual([]);
  });

  it('deletes what was confirmed, and nothing else', async () => {
    await add('one', 'two', 'three');
    expect(await outbox.relayPending(2, async (messages) => new Set([messages[0]!.id]))).toBe(2);
    expect(await found()).toEqual(['two', 'three']);
  });

  it('still has every message while the broker has not confirmed it', async () => {
    await add('one');
    await outbox.relayPending(10, async (messages) => {
      const rows = await opened.database.rows<{ id: string }>({ sql: 'SELECT id FROM outbox' });
      expect(rows.map(({ id }) => id)).toEqual([...idsOf(messages)]);
      return idsOf(messages);
    });
    expect(await found()).toEqual([]);
  });

  it('sends again what a relay had in its hands that did not come back', async () => {
    await add('one', 'two');
    const dying = outbox.relayPending(10, async () => {
      throw new Error('the process dies');
    });
    await expect(dying).rejects.toThrow('dies');
    expect(await found()).toEqual(['one', 'two']);
  });

  it('gives a message to one relay at a time', async () => {
    await add('one', 'two', 'three');
    await outbox.relayPending(2, async (messages) => {
      expect(await found()).toEqual(['three']);
      return idsOf(messages);
    });
    expect(await found()).toEqual(['three']);
  });
});
