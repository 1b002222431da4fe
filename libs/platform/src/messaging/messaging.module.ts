import { Inject, Module, type DynamicModule, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { Secret } from '@libs/contracts';
import { BrokerConnection } from './broker-connection';
import { CallClient } from './call-client';
import { ConfirmingPublisher } from './confirming-publisher';
import { jobSender } from './job-sender';
import { MessageBus } from './message-bus';
import { RabbitMessageBus } from './rabbit-message-bus';

export interface MessagingModuleOptions {
  readonly amqpUrl: Secret;
  /** How the broker lists our connection. */
  readonly serviceName: string;
}

/**
 * Provides the MessageBus to the whole app, and the BrokerConnection it sends over, for readiness. The app
 * starts without waiting for the broker. The bus outlives the consumers: their last handlers may use it.
 */
@Module({})
export class MessagingModule implements OnModuleInit, OnApplicationShutdown {
  constructor(
    @Inject(BrokerConnection) private readonly connection: BrokerConnection,
    @Inject(CallClient) private readonly client: CallClient,
    @Inject(ConfirmingPublisher) private readonly publisher: ConfirmingPublisher,
  ) {}

  static forRoot({ amqpUrl, serviceName }: MessagingModuleOptions): DynamicModule {
    return {
      module: MessagingModule,
      global: true,
      providers: [
        {
          provide: BrokerConnection,
          useFactory: () => new BrokerConnection({ amqpUrl, name: `${serviceName} sends` }),
        },
        {
          provide: CallClient,
          inject: [BrokerConnection],
          useFactory: (connection: BrokerConnection) => new CallClient(connection),
        },
        {
          provide: ConfirmingPublisher,
          inject: [BrokerConnection],
          useFactory: (connection: BrokerConnection) => new ConfirmingPublisher(connection),
        },
        {
          provide: MessageBus,
          inject: [CallClient, ConfirmingPublisher],
          useFactory: (client: CallClient, publisher: ConfirmingPublisher) =>
            new RabbitMessageBus(client, jobSender(publisher)),
        },
      ],
      exports: [MessageBus, BrokerConnection, ConfirmingPublisher],
    };
  }

  onModuleInit(): void {
    this.connection.start();
    this.client.start();
    this.publisher.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.client.close(), this.publisher.close()]);
    await this.connection.close();
  }
}
