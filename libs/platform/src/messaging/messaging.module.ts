import { Inject, Module, type DynamicModule, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { FeedName, Secret } from '@libs/contracts';
import { Feeds } from '../feeds/feeds';
import { FollowingBus } from '../feeds/following-bus';
import { BrokerConnection } from './broker-connection';
import { BrokerIdentity } from './broker-identity';
import { CallClient } from './call-client';
import { ConfirmingPublisher } from './confirming-publisher';
import { jobSender } from './job-sender';
import { MessageBus } from './message-bus';
import { RabbitMessageBus } from './rabbit-message-bus';

export interface MessagingModuleOptions {
  readonly amqpUrl: Secret;
  readonly identity: BrokerIdentity;
  /** How the broker lists our connection. */
  readonly serviceName: string;
  /** The feeds whose changes this process must know; none by default. */
  readonly follows?: readonly FeedName[];
}

/** The bus that knows of no feeds. */
const PLAIN_BUS = Symbol('plain bus');

/**
 * Provides the MessageBus to the whole app, and its BrokerConnection for readiness checks. The app starts without
 * waiting for the broker. The bus is closed after the consumers, because their last handlers may use it.
 *
 * Global, because a process has one bus, whose identity and feeds only the root of its app knows. Most modules use it,
 * and tests replace it by a fake: a module that imported this one would connect to a broker in its tests.
 */
@Module({})
export class MessagingModule implements OnModuleInit, OnApplicationShutdown {
  constructor(
    @Inject(BrokerConnection) private readonly connection: BrokerConnection,
    @Inject(CallClient) private readonly client: CallClient,
    @Inject(ConfirmingPublisher) private readonly publisher: ConfirmingPublisher,
    @Inject(Feeds) private readonly feeds: Feeds,
  ) {}

  static forRoot({ amqpUrl, identity, serviceName, follows = [] }: MessagingModuleOptions): DynamicModule {
    return {
      module: MessagingModule,
      global: true,
      providers: [
        { provide: BrokerIdentity, useValue: identity },
        {
          provide: BrokerConnection,
          useFactory: () => new BrokerConnection({ amqpUrl, name: `${serviceName} sends` }),
        },
        {
          provide: CallClient,
          inject: [BrokerConnection],
          useFactory: (connection: BrokerConnection) => new CallClient(connection, identity),
        },
        {
          provide: ConfirmingPublisher,
          inject: [BrokerConnection],
          useFactory: (connection: BrokerConnection) => new ConfirmingPublisher(connection),
        },
        {
          provide: PLAIN_BUS,
          inject: [CallClient, ConfirmingPublisher],
          useFactory: (client: CallClient, publisher: ConfirmingPublisher) =>
            new RabbitMessageBus(client, jobSender(publisher)),
        },
        {
          provide: Feeds,
          inject: [PLAIN_BUS],
          useFactory: (bus: MessageBus) => new Feeds(bus, { amqpUrl, identity, serviceName, names: follows }),
        },
        {
          provide: MessageBus,
          inject: [PLAIN_BUS, Feeds],
          useFactory: (bus: MessageBus, feeds: Feeds) => new FollowingBus(bus, feeds),
        },
      ],
      exports: [MessageBus, BrokerConnection, BrokerIdentity, ConfirmingPublisher, Feeds],
    };
  }

  onModuleInit(): void {
    this.connection.start();
    this.client.start();
    this.publisher.start();
    this.feeds.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.feeds.close();
    await Promise.all([this.client.close(), this.publisher.close()]);
    await this.connection.close();
  }
}
