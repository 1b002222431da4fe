import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'amqplib';
import { AdvanceBatch, queues } from '@libs/contracts';
import { TcpProxy } from '@libs/platform/testing';
import { eventually } from './eventually';
import type { Fault, ScheduledFault } from './fault-schedule';
import type { Installation } from './installation';
import type { Upstream } from './upstream';

const DEFAULT_DATABASE = 'postgres://postgres@127.0.0.1:5432/postgres';
const DEFAULT_REDIS = 'redis://127.0.0.1:6379';
/** Long enough that every call to it in this time fails, short enough for a test of seconds. */
const AWAY_MS = 1_200;
const STORM_ENDS = 10;
const BACK_WITHIN_MS = 60_000;

/** Proxies before the services that are not ours to kill: through them they can go away for one installation alone. */
export class ServiceProxies {
  private constructor(
    readonly database: TcpProxy,
    readonly redis: TcpProxy,
  ) {}

  static async start(): Promise<ServiceProxies> {
    return new ServiceProxies(
      await TcpProxy.start(process.env.DATABASE_URL ?? DEFAULT_DATABASE),
      await TcpProxy.start(process.env.REDIS_URL ?? DEFAULT_REDIS),
    );
  }

  get redisUrl(): string {
    return this.redis.through(process.env.REDIS_URL ?? DEFAULT_REDIS);
  }

  async close(): Promise<void> {
    await Promise.all([this.database.close(), this.redis.close()]);
  }
}

/** Brings about what a schedule says. */
export class Nemesis {
  constructor(
    private readonly installation: Installation,
    private readonly proxies: ServiceProxies,
    /** Names of the worker processes; those that die are started again. */
    private readonly workers: readonly string[],
  ) {}

  /** Follows the schedule by the calls the upstream sees. Resolves when its last fault is over. */
  async follow(schedule: readonly ScheduledFault[], upstream: Upstream, tell: (what: string) => void): Promise<void> {
    for (const [index, { atCalls, fault }] of schedule.entries()) {
      await upstream.untilCalls(atCalls);
      tell(`${atCalls} calls: ${fault}`);
      await this.bring(fault, index);
    }
  }

  /** `turn` chooses among several who can be struck. */
  bring(fault: Fault, turn: number): Promise<void> {
    return this.#deeds[fault](this.workers[turn % this.workers.length]!);
  }

  readonly #deeds: Readonly<Record<Fault, (worker: string) => Promise<void>>> = {
    'a worker dies': async (worker) => {
      await this.kill(worker);
      // Its lease would end in half a minute; time is what a test has least of.
      await this.endLeases();
    },
    'the gateway dies': () => this.kill('gateway'),
    'leases run out': () => this.endLeases(),
    'a worker freezes': (worker) => this.freeze(worker),
    'database connections end': () => this.endConnections(),
    'the database is away': () => this.away(this.proxies.database),
    'Redis is away': () => this.away(this.proxies.redis),
    'Redis is silent': async () => {
      this.proxies.redis.hold();
      await delay(AWAY_MS);
      this.proxies.redis.release();
    },
    'messages come again': () => this.repeatMessages(),
    'the broker restarts': () => this.installation.broker.restart(),
  };

  /** As if half a minute had passed for every lease: those who live become stale owners. */
  async endLeases(): Promise<void> {
    await this.installation.database.execute({
      sql: `UPDATE batch_segments SET available_at = now() WHERE state = 'open' AND available_at > now()`,
    });
  }

  /** The job of every batch that ever was, three times, in no order. */
  async repeatMessages(): Promise<void> {
    const rows = await this.installation.database.rows<{ id: string }>({ sql: 'SELECT id FROM batches' });
    await sendAdvanceBatch(
      this.installation.broker.url,
      [...rows, ...rows.toReversed(), ...rows].map(({ id }) => id),
    );
  }

  private async kill(name: string): Promise<void> {
    await this.pidOf(name);
    await this.installation.kill9(name);
  }

  /** One that died a moment ago is on its way back. */
  private pidOf(name: string): Promise<number> {
    return eventually(`${name} runs`, BACK_WITHIN_MS, () =>
      this.installation.isUp(name) ? this.installation.pidOf(name) : undefined,
    );
  }

  private async freeze(worker: string): Promise<void> {
    const pid = await this.pidOf(worker);
    process.kill(pid, 'SIGSTOP');
    try {
      await this.endLeases();
      await delay(AWAY_MS);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
  }

  private async away(proxy: TcpProxy): Promise<void> {
    proxy.refuse();
    await delay(AWAY_MS);
    proxy.accept();
  }

  private async endConnections(): Promise<void> {
    for (let time = 0; time < STORM_ENDS; time += 1) {
      await this.installation.database.execute({
        sql: `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
              WHERE datname = current_database() AND application_name <> 'test'`,
      });
      await delay(AWAY_MS / STORM_ENDS);
    }
  }
}

export async function sendAdvanceBatch(brokerUrl: string, batchIds: readonly string[]): Promise<void> {
  const connection = await connect(brokerUrl);
  try {
    const channel = await connection.createConfirmChannel();
    for (const batchId of batchIds) {
      const packet = JSON.stringify({ pattern: AdvanceBatch.name, data: { batchId } });
      channel.sendToQueue(queues.batches.name, Buffer.from(packet), { persistent: true });
    }
    await channel.waitForConfirms();
  } finally {
    await connection.close();
  }
}
