import {
  Inject,
  Module,
  type BeforeApplicationShutdown,
  type DynamicModule,
  type ModuleMetadata,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { CHANGES_OF, type FeedName } from '@libs/contracts';
import { BrokerConnection } from '../messaging/broker-connection';
import { BrokerIdentity } from '../messaging/broker-identity';
import { FanoutSender } from '../messaging/fanout';
import { FeedOwner } from './feed-owner';
import { FeedSource } from './feed-source';
import { exchangeOf } from './feeds';

export interface FeedOwnerModuleOptions {
  readonly feed: FeedName;
  /** One of these modules exports a FeedSource. */
  readonly imports: ModuleMetadata['imports'];
}

/** Publishes the changes of a feed while the app runs. Needs the (global) messaging module. */
@Module({})
export class FeedOwnerModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(
    @Inject(FeedOwner) private readonly owner: FeedOwner,
    @Inject(FanoutSender) private readonly sender: FanoutSender,
  ) {}

  static forRoot({ feed, imports }: FeedOwnerModuleOptions): DynamicModule {
    return {
      module: FeedOwnerModule,
      imports,
      providers: [
        {
          provide: FanoutSender,
          inject: [BrokerConnection, BrokerIdentity],
          useFactory: (connection: BrokerConnection, identity: BrokerIdentity) =>
            new FanoutSender(connection, exchangeOf(feed), { identity, followers: CHANGES_OF[feed].askedBy }),
        },
        {
          provide: FeedOwner,
          inject: [FeedSource, FanoutSender],
          useFactory: (source: FeedSource, sender: FanoutSender) => new FeedOwner(feed, source, sender),
        },
      ],
      exports: [FeedOwner],
    };
  }

  onApplicationBootstrap(): void {
    this.sender.start();
    this.owner.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.owner.stop();
    await this.sender.close();
  }
}
