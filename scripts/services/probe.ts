import { connect, type ChannelModel } from 'amqplib';
import Redis from 'ioredis';
import { Client } from 'pg';
import type { ServiceName } from './service-kinds';

/** Whether a server can be used; `reason` is fit to be printed and holds no URL. */
export type ProbeResult = { readonly ok: true } | { readonly ok: false; readonly reason: string };

const PROBE_TIMEOUT_MS = 5_000;

/** The first version whose queues have at-least-once dead-lettering, which job queues need. */
const OLDEST_RABBIT = [3, 10] as const;
const OLDEST_POSTGRES = 140_000;
/** Our scripts read the server's clock and write, which older servers refuse. */
const OLDEST_REDIS = 5;

const refused = (reason: string): ProbeResult => ({ ok: false, reason });

function describe(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(describe).join('; ');
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (code === 'ECONNREFUSED') return 'nothing listens there';
  return typeof message === 'string' && message !== '' ? (message.split('\n')[0] ?? message) : String(code);
}

/** Logs in, and asks whether this login may create the databases that Sluice and its tests use. */
export async function probePostgres(url: string): Promise<ProbeResult> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: PROBE_TIMEOUT_MS });
  // A connection that is cut also emits an error here; the query has already reported it.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ version: number; may_create: boolean }>(
      `SELECT current_setting('server_version_num')::int AS version, rolsuper OR rolcreatedb AS may_create
         FROM pg_roles WHERE rolname = current_user`,
    );
    const [row] = rows;
    if (row === undefined || row.version < OLDEST_POSTGRES) return refused('it is older than PostgreSQL 14');
    return row.may_create ? { ok: true } : refused('the login may not create databases');
  } catch (error) {
    return refused(describe(error));
  } finally {
    await client.end().catch(() => undefined);
  }
}

export async function probeRabbit(url: string): Promise<ProbeResult> {
  let connection: ChannelModel | undefined;
  try {
    connection = await connect(url, { timeout: PROBE_TIMEOUT_MS });
    connection.on('error', () => undefined);
    const { version } = connection.connection.serverProperties as { version?: unknown };
    const [major = 0, minor = 0] = String(version).split('.').map(Number);
    const [oldestMajor, oldestMinor] = OLDEST_RABBIT;
    const oldEnough = major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
    return oldEnough ? { ok: true } : refused(`it is RabbitMQ ${String(version)}; 3.10 is the oldest that serves`);
  } catch (error) {
    return refused(describe(error));
  } finally {
    await connection?.close().catch(() => undefined);
  }
}

export async function probeRedis(url: string): Promise<ProbeResult> {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: PROBE_TIMEOUT_MS,
    commandTimeout: PROBE_TIMEOUT_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    disconnectTimeout: 100,
  });
  let lastError: unknown;
  redis.on('error', (error) => (lastError = error));
  try {
    await redis.connect();
    const version = /redis_version:(\d+)/.exec(await redis.info('server'))?.[1];
    return Number(version) >= OLDEST_REDIS ? { ok: true } : refused('it is older than Redis 5');
  } catch (error) {
    return refused(describe(lastError ?? error));
  } finally {
    redis.disconnect();
  }
}

const probes = { postgres: probePostgres, rabbitmq: probeRabbit, redis: probeRedis } as const;

export function probe(name: ServiceName, url: string): Promise<ProbeResult> {
  return probes[name](url);
}
