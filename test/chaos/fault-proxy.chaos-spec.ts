import { connect } from 'amqplib';
import Redis from 'ioredis';
import { Client } from 'pg';
import { createTestDatabase, type TestDatabase } from '@libs/persistence/testing';
import { FaultProxy, type CommitCut } from '../support/fault-proxy';
import { REDIS_URL } from '../support/installation';

/** The fault proxy before real servers. */

const AMQP_URL = process.env.AMQP_URL ?? 'amqp://guest:guest@127.0.0.1:5672';

let testDatabase: TestDatabase;
let direct: Client;
let proxy: FaultProxy;

async function dial(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  direct = await dial(testDatabase.url);
  await direct.query('CREATE TABLE kept (name text PRIMARY KEY)');
  const { hostname: host, port } = new URL(testDatabase.url);
  proxy = await FaultProxy.start({ host, port: Number(port || 5_432), protocol: 'postgres' });
}, 240_000);

afterAll(async () => {
  await proxy?.close();
  await direct?.end();
  await testDatabase?.drop();
});

beforeEach(() => proxy.heal());

const names = async (): Promise<string[]> =>
  (await direct.query<{ name: string }>('SELECT name FROM kept ORDER BY name')).rows.map(({ name }) => name);

/** @returns whether the client got the confirmation of the commit */
async function runThrough(statements: (client: Client) => Promise<unknown>): Promise<boolean> {
  const client = await dial(proxy.through(testDatabase.url));
  try {
    await statements(client);
    return true;
  } catch (error) {
    expect(String(error)).toMatch(/ECONNRESET|Connection terminated|EPIPE/);
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

const transaction =
  (name: string, commit: (client: Client) => Promise<unknown>) =>
  async (client: Client): Promise<void> => {
    await client.query('BEGIN');
    await client.query('INSERT INTO kept VALUES ($1)', [name]);
    await commit(client);
  };

const COMMITS: readonly (readonly [string, (client: Client) => Promise<unknown>])[] = [
  ['a simple query', (client) => client.query('COMMIT')],
  ['a prepared statement', (client) => client.query({ name: 'end', text: 'COMMIT', values: [] as string[] })],
];
const both: CommitCut['kinds'] = ['commit', 'write'];

describe('before PostgreSQL', () => {
  it.each(COMMITS)(
    'cuts after COMMIT, as %s, was executed: the client learns nothing, the row is there',
    async (as, commit) => {
      proxy.cutAtCommit({ when: 'after', kinds: ['commit'] }, 1);
      expect(await runThrough(transaction(`after ${as}`, commit))).toBe(false);
      expect(await names()).toContain(`after ${as}`);
      // The next one is not struck.
      expect(await runThrough(transaction(`second ${as}`, commit))).toBe(true);
    },
  );

  it.each(COMMITS)('cuts before COMMIT, as %s, reaches the server: the row is not there', async (as, commit) => {
    proxy.cutAtCommit({ when: 'before', kinds: ['commit'] }, 1);
    expect(await runThrough(transaction(`before ${as}`, commit))).toBe(false);
    expect(await names()).not.toContain(`before ${as}`);
  });

  it.each(['before', 'after'] as const)('cuts %s a statement that commits by itself', async (when) => {
    const name = `${when} by itself`;
    proxy.cutAtCommit({ when, kinds: ['write'] }, 1);
    const insert = (client: Client): Promise<unknown> => client.query('INSERT INTO kept VALUES ($1)', [name]);
    expect(await runThrough(insert)).toBe(false);
    expect((await names()).includes(name)).toBe(when === 'after');
    expect(proxy.commitCuts[when]).toBeGreaterThan(0);
  });

  it('leaves reads, writes inside of a transaction and rollbacks alone', async () => {
    proxy.cutAtCommit({ when: 'after', kinds: both }, 1);
    const reads = (client: Client): Promise<unknown> => client.query('SELECT $1::text', ['INSERT']);
    expect(await runThrough(reads)).toBe(true);
    expect(await runThrough(transaction('rolled back', (client) => client.query('ROLLBACK')))).toBe(true);
    expect(await names()).not.toContain('rolled back');
    expect(await runThrough(transaction('struck', (client) => client.query('COMMIT')))).toBe(false);
  });

  it('can strike the transactions that touch one table alone', async () => {
    await direct.query('CREATE TABLE IF NOT EXISTS others (name text)');
    proxy.cutAtCommit({ when: 'after', kinds: ['commit'], mentioning: 'others' }, 1);
    expect(await runThrough(transaction('another table', (client) => client.query('COMMIT')))).toBe(true);
    const touching = async (client: Client): Promise<void> => {
      await client.query('BEGIN');
      await client.query('INSERT INTO others VALUES ($1)', ['a']);
      await client.query('COMMIT');
    };
    expect(await runThrough(touching)).toBe(false);
  });

  it('lets the answer through and is gone afterwards', async () => {
    proxy.cutAtCommit({ when: 'answered', kinds: ['commit'] }, 1);
    const wasTold: boolean[] = [];
    const client = await dial(proxy.through(testDatabase.url));
    await transaction('answered', (one) => one.query('COMMIT').then(() => wasTold.push(true)))(client);
    expect(wasTold).toEqual([true]);
    await expect(client.query('SELECT 1')).rejects.toThrow(/terminated|ECONNRESET|not queryable/);
    await expect(dial(proxy.through(testDatabase.url))).rejects.toThrow(/ECONNRESET|terminated/);
    proxy.heal();
    expect(await runThrough((one) => one.query('SELECT 1'))).toBe(true);
    await client.end().catch(() => undefined);
  });

  it('finds a commit whose bytes come one by one', async () => {
    proxy.impair({ sliceBytes: 1 });
    proxy.cutAtCommit({ when: 'after', kinds: ['commit'] }, 1);
    expect(await runThrough(transaction('sliced', (client) => client.query('COMMIT')))).toBe(false);
    expect(await names()).toContain('sliced');
  });

  it('passes megabytes of parameters and rows unchanged', async () => {
    const text = 'Q'.repeat(9_000_000);
    await runThrough(async (client) => {
      const { rows } = await client.query<{ text: string }>('SELECT $1::text AS text', [text]);
      expect(rows[0]!.text === text).toBe(true);
    });
  });

  it('is an outage while it refuses, and none afterwards', async () => {
    proxy.refuse();
    await expect(dial(proxy.through(testDatabase.url))).rejects.toThrow(/ECONNRESET|terminated/);
    proxy.accept();
    expect(await runThrough((client) => client.query('SELECT 1'))).toBe(true);
  });
});

async function proxyBefore(url: string, port: number): Promise<FaultProxy> {
  const target = new URL(url);
  return FaultProxy.start({ host: target.hostname, port: Number(target.port || port) });
}

describe('before RabbitMQ', () => {
  it('passes frames in slices, and cuts', async () => {
    const rabbit = await proxyBefore(AMQP_URL, 5_672);
    rabbit.impair({ sliceBytes: 5 });
    const connection = await connect(rabbit.through(AMQP_URL));
    const ended = new Promise((resolve) => connection.on('close', resolve));
    connection.on('error', () => undefined);
    const channel = await connection.createConfirmChannel();
    const { queue } = await channel.assertQueue('', { exclusive: true });
    channel.sendToQueue(queue, Buffer.from('x'.repeat(500)));
    await channel.waitForConfirms();
    expect(((await channel.get(queue, { noAck: true })) || { content: '' }).content.toString()).toHaveLength(500);
    rabbit.cutAll('rst');
    await ended;
    await rabbit.close();
  });
});

describe('before Redis', () => {
  it('stalls half-open: connected, and no answer', async () => {
    const place = await proxyBefore(REDIS_URL, 6_379);
    const redis = new Redis(place.through(REDIS_URL), { commandTimeout: 300, maxRetriesPerRequest: 0 });
    redis.on('error', () => undefined);
    expect(await redis.ping()).toBe('PONG');
    place.impair({ stalled: ['down'] });
    await expect(redis.ping()).rejects.toThrow('Command timed out');
    place.heal(true);
    redis.disconnect();
    await place.close();
  });
});
