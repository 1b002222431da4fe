import { NestFactory } from '@nestjs/core';
import { createDataSource, Database } from '@libs/persistence';
import type { Secret } from '@libs/contracts';
import { CatalogueSource, PROTOCOLS, type Catalogue } from '@libs/inference';
import { BrokerIdentity, MessageBus, MessagingModule } from '@libs/platform';
import type { SluiceEnv } from './sluice.env';

/** The running installation on which a command works. Connections are opened only when a command needs them. */
export interface Installation {
  /** The `<service>` in the prefix of new keys. */
  readonly serviceName: string;
  /** Connects to the broker, to call the apps; they must be running. */
  bus(): Promise<MessageBus>;
  /** Connects to the database, for data that no app provides. */
  database(): Promise<Database>;
  /** The providers and their prices. @throws CatalogueError */
  catalogue(): Promise<Catalogue>;
  /** Returns the administrator's key for reports of this protocol; null if the environment has none. */
  adminKey(protocol: ReportProtocol): Secret | null;
}

/** Protocols whose makers report what they charged. */
export type ReportProtocol = 'openai' | 'anthropic';

const NAME = 'sluice command line';
const CONNECTIONS = 2;

export class ConnectedInstallation implements Installation {
  readonly serviceName: string;
  private busWanted: Promise<MessageBus> | null = null;
  private databaseWanted: Promise<Database> | null = null;
  private readonly connections: (() => Promise<unknown>)[] = [];

  constructor(private readonly env: SluiceEnv) {
    this.serviceName = env.SERVICE_NAME;
  }

  bus(): Promise<MessageBus> {
    this.busWanted ??= this.openBus();
    return this.busWanted;
  }

  database(): Promise<Database> {
    this.databaseWanted ??= this.openDatabase();
    return this.databaseWanted;
  }

  async catalogue(): Promise<Catalogue> {
    const source = new CatalogueSource(this.env.CATALOG_PATH, { protocols: PROTOCOLS, onProblem: () => undefined });
    try {
      await source.start();
      return source.current();
    } finally {
      await source.close();
    }
  }

  adminKey(protocol: ReportProtocol): Secret | null {
    const { OPENAI_ADMIN_KEY, ANTHROPIC_ADMIN_KEY } = this.env;
    return (protocol === 'openai' ? OPENAI_ADMIN_KEY : ANTHROPIC_ADMIN_KEY) ?? null;
  }

  async close(): Promise<void> {
    await Promise.all(this.connections.map((close) => close()));
  }

  private async openBus(): Promise<MessageBus> {
    const identity = BrokerIdentity.from('cli', this.env);
    const module = MessagingModule.forRoot({ amqpUrl: this.env.AMQP_URL, identity, serviceName: NAME });
    const context = await NestFactory.createApplicationContext(module, { logger: false, abortOnError: false });
    this.connections.push(() => context.close());
    return context.get(MessageBus);
  }

  private async openDatabase(): Promise<Database> {
    const url = this.env.DATABASE_URL.reveal();
    const dataSource = createDataSource({ url, applicationName: NAME, poolSize: CONNECTIONS });
    await dataSource.initialize();
    this.connections.push(() => dataSource.destroy());
    return new Database(dataSource);
  }
}
