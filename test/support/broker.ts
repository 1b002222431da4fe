import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { connect } from 'amqplib';
import type { PartyName } from '@libs/contracts';
import { TcpProxy } from '@libs/platform/testing';
import { hasRabbitPrograms, startPrivateRabbit } from '../../scripts/private-services';
import { askManagement } from './broker-management';
import { BROKER_SETUP, SharedBrokerVhost } from './shared-broker';

/**
 * The broker of one installation. Queue names are the same in every installation, so two of them on one virtual
 * host would take each other's messages. Where the program is installed, this one is a virtual host of the RabbitMQ
 * that the run of tests shares, or for a test that kills it a RabbitMQ of its own. Elsewhere it is a virtual host of
 * the broker that AMQP_URL names, behind a proxy that can be taken away: a test then loses its connections as from a
 * dead broker, while the broker, which is not ours to kill, stays.
 */
export interface InstallationBroker {
  /** Of the administrator. */
  readonly url: string;
  /** Whether each party has a user of its own, which may do what its contracts need and no more. */
  readonly hasUsers: boolean;
  /** Gone from one moment to the next, until `restart`. */
  kill9(): Promise<void>;
  /** Brings it back, after an orderly stop if it runs; what it had confirmed is there again. */
  restart(): Promise<void>;
  /** Ends it, or gives back what was used of it. */
  stop(): Promise<void>;
}

const DEFAULT_URL = 'amqp://guest:guest@127.0.0.1:5672';
const MANAGEMENT_PORT = 15_672;

/** @param isOwn whether the test wants to end it, or to read its files */
export async function startBroker(folder: string, isOwn: boolean): Promise<InstallationBroker> {
  if (!hasRabbitPrograms()) return ProxiedBroker.start(process.env.AMQP_URL ?? DEFAULT_URL);
  const vhost = isOwn ? undefined : await SharedBrokerVhost.create();
  if (vhost !== undefined) return vhost;
  mkdirSync(folder, { recursive: true });
  return Object.assign(await startPrivateRabbit(folder, BROKER_SETUP), { hasUsers: true });
}

/** The URL with which a party connects: `url` is the broker's, or that of a proxy before it. */
export function urlOf(party: PartyName, { hasUsers }: InstallationBroker, url: string): string {
  if (!hasUsers) return url;
  const own = new URL(url);
  own.username = party;
  return own.href;
}

/** Takes every message out of a queue; how many there were. */
export async function purgeQueue(brokerUrl: string, queue: string): Promise<number> {
  const connection = await connect(brokerUrl);
  try {
    const channel = await connection.createChannel();
    return (await channel.purgeQueue(queue)).messageCount;
  } finally {
    await connection.close();
  }
}

/** Messages that wait in a queue. */
export async function queueDepth(brokerUrl: string, queue: string): Promise<number> {
  const connection = await connect(brokerUrl);
  try {
    const channel = await connection.createChannel();
    return (await channel.checkQueue(queue)).messageCount;
  } finally {
    await connection.close();
  }
}

class ProxiedBroker implements InstallationBroker {
  readonly hasUsers = false;

  private constructor(
    readonly url: string,
    private readonly proxy: TcpProxy,
    private readonly giveBack: () => Promise<void>,
  ) {}

  static async start(serverUrl: string): Promise<ProxiedBroker> {
    const server = new URL(serverUrl);
    const name = `sluice-test-${randomBytes(4).toString('hex')}`;
    const hasOwn = await manageVhost('PUT', server, name);
    const proxy = await TcpProxy.start(serverUrl);
    if (hasOwn) server.pathname = `/${name}`;
    return new ProxiedBroker(proxy.through(server.href), proxy, async () => {
      if (hasOwn) await manageVhost('DELETE', server, name);
    });
  }

  async kill9(): Promise<void> {
    this.proxy.refuse();
  }

  async restart(): Promise<void> {
    this.proxy.cut();
    this.proxy.accept();
  }

  async stop(): Promise<void> {
    await this.proxy.close();
    await this.giveBack();
  }
}

/** False where no management plugin answers: then the virtual host of the URL is used as it is. */
async function manageVhost(method: 'PUT' | 'DELETE', server: URL, name: string): Promise<boolean> {
  const url = new URL(`http://${server.username}:${server.password}@${server.hostname}:${MANAGEMENT_PORT}`);
  const asked = askManagement(url, { method, path: `vhosts/${name}`, ...(method === 'PUT' && { body: {} }) });
  return asked.then(
    ({ ok }) => ok,
    () => false,
  );
}
