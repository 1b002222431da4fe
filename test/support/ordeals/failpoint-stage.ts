import type { Failpoint } from '@libs/failpoints';
import { IdentityIssuer } from '../identity-issuer';
import type { ApiAnswer, ApiClient } from '../client';
import { FailpointDeaths } from '../failpoint-deaths';
import { FailpointProviders } from '../failpoint-providers';
import { Installation } from '../installation';
import { WebhookReceiver } from '../webhook-receiver';
import type { Ordeal } from './ordeal';

/** How long anything may take that comes to its end by itself. */
export const END_MS = 90_000;
export const PRICES = { prompt: '0.000000123', completion: '0.000000457' };
export const VIDEO_USD = '0.01';
/** The points at which a gateway dies with a call; each has a model, `tests/NAME`, and a provider of its own. */
export const CALLS = ['call-covered', 'stream-begun', 'call-answered'] as const satisfies readonly Failpoint[];

const LIMITS = ['BATCH_SUBMISSIONS', 'BATCH_READS', 'VIDEO_SUBMISSIONS', 'TOKEN_EXCHANGES', 'MANAGEMENT_REQUESTS'];

interface Count {
  readonly n: number;
}

/** Whom the apps talk to. */
interface Peers {
  readonly providers: FailpointProviders;
  readonly receiver: WebhookReceiver;
  readonly issuer: IdentityIssuer;
}

/** An installation of the build with failpoints, with all that its apps talk to, on which they die and come back. */
export class FailpointStage {
  readonly providers: FailpointProviders;
  readonly receiver: WebhookReceiver;
  readonly issuer: IdentityIssuer;
  readonly deaths: FailpointDeaths;
  #client: ApiClient;
  #manager: ApiClient;
  #tags = 0;

  private constructor(
    peers: Peers,
    readonly installation: Installation,
  ) {
    ({ providers: this.providers, receiver: this.receiver, issuer: this.issuer } = peers);
    this.deaths = new FailpointDeaths(installation);
    this.#client = installation.client();
    this.#manager = installation.client(installation.seed.managementKey);
  }

  /** `keyring` is that of the credentials app. */
  static async start(keyring: string): Promise<FailpointStage> {
    const starting = [FailpointProviders.start(), WebhookReceiver.start(), IdentityIssuer.start()] as const;
    const [providers, receiver, issuer] = await Promise.all(starting);
    const peers = { providers, receiver, issuer };
    try {
      return new FailpointStage(peers, await startInstallation(peers, keyring));
    } catch (error) {
      await stopPeers(peers);
      throw error;
    }
  }

  /** Of the demo workspace; another one after each row of deaths. */
  get client(): ApiClient {
    return this.#client;
  }

  /** With a management key. */
  get manager(): ApiClient {
    return this.#manager;
  }

  /** Keeps what an ordeal makes apart from what others did. */
  newTag(point: Failpoint): string {
    return `${point}-${(this.#tags += 1)}`;
  }

  /** Several ordeals of one app, in one row of deaths; what became of each is looked at when all are over. */
  async endure(...ordeals: readonly [Ordeal, ...Ordeal[]]): Promise<void> {
    const [{ app, environment }] = ordeals;
    const row = ordeals.flatMap((ordeal) => ordeal.deaths);
    await this.deaths.die(app, row, environment);
    // Connections of before may have died with the gateway.
    await this.#disconnect();
    this.#client = this.installation.client();
    this.#manager = this.installation.client(this.installation.seed.managementKey);
    for (const { verify } of ordeals) await verify();
  }

  /** What a query for one number gives. */
  async count(sql: string, ...values: readonly string[]): Promise<number> {
    const query = { sql: `SELECT (${sql})::integer AS n`, values: [...values] };
    return (await this.installation.database.firstRow<Count>(query))!.n;
  }

  async stop(): Promise<void> {
    await this.#disconnect();
    await this.installation.stop();
    await stopPeers(this);
  }

  async #disconnect(): Promise<void> {
    await Promise.all([this.#client.close(), this.#manager.close()]);
  }
}

export const remove = (path: string, by: ApiClient): Promise<ApiAnswer> => by.request('DELETE', path);

function startInstallation({ providers, receiver, issuer }: Peers, keyring: string): Promise<Installation> {
  const egress = { EGRESS_ALLOW_CIDRS: '127.0.0.0/8' };
  return Installation.start({
    catalogue: providers.catalogue(CALLS, PRICES, VIDEO_USD),
    environment: {
      ...Object.fromEntries(LIMITS.map((name) => [`${name}_PER_MINUTE`, '100000'])),
      VIDEO_REVIEW_SECONDS: '1',
      CREDENTIALS_KEYRING: keyring,
    },
    environmentOf: {
      auth: { ...egress, NODE_EXTRA_CA_CERTS: issuer.certificateFile },
      gateway: egress,
      'video-worker': { ...egress, NODE_EXTRA_CA_CERTS: receiver.certificateFile },
    },
  });
}

async function stopPeers({ providers, receiver, issuer }: Peers): Promise<void> {
  await Promise.all([providers.stop(), receiver.stop(), issuer.stop()]);
}
