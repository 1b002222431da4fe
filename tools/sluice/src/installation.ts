import { NestFactory } from '@nestjs/core';
import { createDataSource, Database } from '@libs/persistence';
import { BrokerIdentity, MessageBus, MessagingModule, type ServicesEnv } from '@libs/platform';

/** The running installation that a command works on. Nothing is connected before a command asks for it. */
export interface Installation {
  /** The `<service>` in the prefix of new keys. */
  readonly serviceName: string;
  /** The way to the apps; they must be running. */
  bus(): Promise<MessageBus>;
  /** The books and the batches themselves, for what no app is asked about. */
  database(): Promise<Database>;
}

const NAME = 'sluice command line';
const CONNECTIONS = 2;

export class ConnectedInstallation implements Installation {
  readonly serviceName: string;
  private busWanted: Promise<MessageBus> | null = null;
  private databaseWanted: Promise<Database> | null = null;
  private readonly connections: (() => Promise<unknown>)[] = [];

  constructor(private readonly env: ServicesEnv) {
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
