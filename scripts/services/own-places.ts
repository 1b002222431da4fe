import { Client } from 'pg';
import { runCommand } from './commands';
import { withPath, type Services } from './find-services';
import { probe } from './probe';
import type { FoundService } from './service-kinds';

const OWN_NAME = 'sluice';
const MANAGEMENT_PORT = 15_672;
const RABBITMQCTL_TIMEOUT_MS = 30_000;
const UNKNOWN_DATABASE = '3D000';
const DATABASE_EXISTS = '42P04';

const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code;

async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end();
  }
}

async function databaseExists(url: string): Promise<boolean> {
  try {
    await withClient(url, (client) => client.query('SELECT 1'));
    return true;
  } catch (error) {
    if (codeOf(error) === UNKNOWN_DATABASE) return false;
    throw error;
  }
}

async function createDatabase(url: string): Promise<void> {
  const name = decodeURIComponent(new URL(url).pathname.slice(1));
  try {
    await withClient(withPath(url, '/postgres'), (client) =>
      client.query(`CREATE DATABASE ${client.escapeIdentifier(name)}`),
    );
  } catch (error) {
    if (codeOf(error) !== DATABASE_EXISTS) throw error;
  }
}

/** Returns the database of `up`: the one in DATABASE_URL, else `sluice`; created if it is missing, never emptied. */
async function ownDatabase(service: FoundService): Promise<string> {
  const url = service.source === 'environment' ? service.url : withPath(service.url, `/${OWN_NAME}`);
  if (!(await databaseExists(url))) await createDatabase(url);
  return url;
}

/** Uses the management plugin, if it is installed. */
async function createVhostByHttp(url: string): Promise<void> {
  const { hostname, username, password } = new URL(url);
  const authorization = `Basic ${Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')}`;
  try {
    await fetch(`http://${hostname}:${MANAGEMENT_PORT}/api/vhosts/${OWN_NAME}`, {
      method: 'PUT',
      headers: { authorization, 'content-type': 'application/json' },
      body: '{}',
      signal: AbortSignal.timeout(5_000),
    });
  } catch {
    // No plugin listens there; afterwards the broker itself is asked whether the virtual host exists.
  }
}

/** Works for root, and for a user with the broker's cookie, on the broker's own machine. */
async function createVhostByCommand(url: string): Promise<void> {
  const options = { timeoutMs: RABBITMQCTL_TIMEOUT_MS };
  const user = decodeURIComponent(new URL(url).username);
  await runCommand('rabbitmqctl', ['--quiet', 'add_vhost', OWN_NAME], options);
  await runCommand('rabbitmqctl', ['--quiet', 'set_permissions', '-p', OWN_NAME, user, '.*', '.*', '.*'], options);
}

/** Returns the virtual host of `up`: the one in AMQP_URL, else `sluice`, else the default one, with a message. */
async function ownVirtualHost(service: FoundService, say: (line: string) => void): Promise<string> {
  if (service.source === 'environment') return service.url;
  const url = withPath(service.url, `/${OWN_NAME}`);
  for (const create of [undefined, createVhostByHttp, createVhostByCommand]) {
    await create?.(service.url);
    if ((await probe('rabbitmq', url)).ok) return url;
  }
  say(`RabbitMQ   has no virtual host '${OWN_NAME}' and this user may not make one; the default '/' is used.`);
  say(`           To have one: rabbitmqctl add_vhost ${OWN_NAME}, and set_permissions on it.`);
  return service.url;
}

/** The services with a database and a virtual host of Sluice's own. Redis keys carry the prefix `sluice:`. */
export async function withOwnPlaces(services: Services, say: (line: string) => void): Promise<Services> {
  const [databaseUrl, brokerUrl] = await Promise.all([
    ownDatabase(services.postgres),
    ownVirtualHost(services.rabbitmq, say),
  ]);
  return {
    postgres: { ...services.postgres, url: databaseUrl },
    rabbitmq: { ...services.rabbitmq, url: brokerUrl },
    redis: services.redis,
  };
}
