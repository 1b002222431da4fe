import { randomBytes } from 'node:crypto';
import { PARTY_NAMES } from '@libs/contracts';
import { brokerPolicies, permissionsOf } from '@libs/platform';
import { startPrivateRabbit, vhostDefinitions } from '../../scripts/private-services';
import { askManagement } from './broker-management';

/** A user for each party, who may do what its contracts need and no more. */
export const BROKER_SETUP = {
  users: PARTY_NAMES.map((party) => ({ name: party, permissions: permissionsOf(party) })),
  policiesOf: brokerPolicies,
};

/** A RabbitMQ that all installations of a run of tests share, each in a virtual host: one takes four seconds to start. */
export interface SharedBroker {
  /** What a process that runs tests must have in its environment to find it. */
  readonly environment: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

export async function startSharedBroker(folder: string): Promise<SharedBroker> {
  const server = await startPrivateRabbit(folder, { ...BROKER_SETUP, isManaged: true });
  return {
    environment: { SHARED_BROKER_URL: server.url, SHARED_BROKER_MANAGEMENT_URL: server.managementUrl },
    stop: () => server.stop(),
  };
}

/** A virtual host of the shared broker. The broker is not for one test to kill. */
export class SharedBrokerVhost {
  readonly hasUsers = true;

  private constructor(
    readonly url: string,
    private readonly management: string,
    private readonly name: string,
  ) {}

  /** Undefined when this run shares no broker. */
  static async create(): Promise<SharedBrokerVhost | undefined> {
    const { SHARED_BROKER_URL: server, SHARED_BROKER_MANAGEMENT_URL: management } = process.env;
    if (server === undefined || management === undefined) return undefined;
    const name = `test-${randomBytes(6).toString('hex')}`;
    const body = vhostDefinitions([name], BROKER_SETUP);
    await manage(management, { method: 'POST', path: 'definitions', body });
    const url = new URL(server);
    url.pathname = `/${name}`;
    return new SharedBrokerVhost(url.href, management, name);
  }

  async kill9(): Promise<void> {
    throw new Error('the broker is shared: start the installation with `ownBroker`');
  }

  restart(): Promise<void> {
    return this.kill9();
  }

  async stop(): Promise<void> {
    await manage(this.management, { method: 'DELETE', path: `vhosts/${this.name}` });
  }
}

async function manage(url: string, request: Parameters<typeof askManagement>[1]): Promise<void> {
  const response = await askManagement(new URL(url), request);
  if (response.ok) return;
  throw new Error(
    `${request.method} ${request.path} at the shared broker: ${response.status} ${await response.text()}`,
  );
}
