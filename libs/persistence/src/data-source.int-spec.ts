import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createDataSource } from './data-source';
import { Database } from './database';
import { createTestDatabase, type TestDatabase } from './testing';

const WORKERS = 8;
const STORMS = 25;
const BETWEEN_MS = 40;

describe(createDataSource.name, () => {
  let created: TestDatabase;

  beforeAll(async () => {
    created = await createTestDatabase();
  });

  afterAll(() => created.drop());

  it('has no plans compiled', async () => {
    const dataSource = await createDataSource({ url: created.url, poolSize: 1 }).initialize();
    const rows = await new Database(dataSource).rows({ sql: 'SHOW jit' });
    await dataSource.destroy();
    expect(rows).toEqual([{ jit: 'off' }]);
  });

  it.each([
    ['that opened it', 1],
    ['that made it fit for use', 2],
  ])('survives a connection that ends in the packet %s', async (_which, ready) => {
    const door = await EndingDoor.before(created.url);
    const dataSource = await createDataSource({ url: door.url, poolSize: 2 }).initialize();
    const database = new Database(dataSource);
    try {
      const unheard = await uncaughtDuring(async () => {
        door.endsAtReady = ready;
        // The connection of the beginning is still good; the second of two at once is a new one.
        const asked = [1, 2].map(() => database.rows({ sql: 'SELECT pg_sleep(0.05)' }));
        const outcomes = await Promise.allSettled(asked);
        expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
        door.endsAtReady = null;
        expect(await database.rows({ sql: 'SELECT 1 AS one' })).toEqual([{ one: 1 }]);
      });
      expect(unheard).toEqual([]);
    } finally {
      await dataSource.destroy();
      door.close();
    }
  });

  it('survives connections that are ended at any moment, the first one of their life included', async () => {
    const dataSource = await createDataSource({ url: created.url, poolSize: WORKERS }).initialize();
    const killer = await createDataSource({ url: created.url, poolSize: 1, applicationName: 'killer' }).initialize();
    const database = new Database(dataSource);
    const tenant = database.asTenant({ organizationId: randomUUID() });
    const unheard = await uncaughtDuring(async () => {
      let stopped = false;
      const ask = async (): Promise<void> => {
        while (!stopped) {
          await database.rows({ sql: 'SELECT pg_sleep(0.005)' }).catch(() => []);
          await tenant.rows({ name: 'sleep', sql: 'SELECT pg_sleep(0.005)' }).catch(() => []);
        }
      };
      const asking = Array.from({ length: WORKERS }, ask);
      for (let storm = 0; storm < STORMS; storm += 1) {
        await killer.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname = current_database() AND application_name <> 'killer'`,
        );
        await new Promise((resolve) => setTimeout(resolve, BETWEEN_MS));
      }
      stopped = true;
      await Promise.all(asking);
      expect(await database.rows({ sql: 'SELECT 1 AS one' })).toEqual([{ one: 1 }]);
      expect(await tenant.rows({ sql: 'SELECT 1 AS one' })).toEqual([{ one: 1 }]);
    });
    await Promise.all([dataSource.destroy(), killer.destroy()]);
    expect(unheard).toEqual([]);
  });
});

/** Returns the uncaught errors during the work. Jest's own listeners are removed meanwhile. */
async function uncaughtDuring(work: () => Promise<void>): Promise<readonly unknown[]> {
  const unheard: unknown[] = [];
  const note = (error: unknown): void => void unheard.push(error);
  const listeners = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', note);
  try {
    await work();
    return unheard;
  } finally {
    process.off('uncaughtException', note);
    for (const listener of listeners) process.on('uncaughtException', listener);
  }
}

/** `ReadyForQuery` and `ErrorResponse` of PostgreSQL's protocol (version 3). */
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);
const FIELDS = Buffer.from('SFATAL\0C57P01\0Mterminating connection\0\0');
const TERMINATED = Buffer.concat([Buffer.from([0x45, 0, 0, 0, FIELDS.length + 4]), FIELDS]);

/** A way to PostgreSQL on which, if a test wants it, a connection is ready for a statement and ended in one packet. */
class EndingDoor {
  /** The how manieth time that it is ready; null: it is not ended. */
  endsAtReady: number | null = null;
  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async before(databaseUrl: string): Promise<EndingDoor> {
    const target = new URL(databaseUrl);
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = new URL(databaseUrl);
    url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const door = new EndingDoor(server, url.href);
    server.on('connection', (caller) => door.relay(caller, connect(Number(target.port || 5432), target.hostname)));
    return door;
  }

  close(): void {
    this.server.close();
  }

  private relay(caller: Socket, postgres: Socket): void {
    for (const socket of [caller, postgres]) socket.on('error', () => undefined);
    caller.pipe(postgres);
    caller.on('close', () => postgres.destroy());
    postgres.on('close', () => caller.destroy());
    const { endsAtReady } = this;
    let ready = 0;
    postgres.on('data', (chunk: Buffer) => {
      ready += Number(chunk.includes(READY));
      if (ready === endsAtReady) caller.end(Buffer.concat([chunk, TERMINATED]));
      else caller.write(chunk);
    });
  }
}
