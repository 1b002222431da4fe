import { Inject, Module, type DynamicModule, type OnModuleInit } from '@nestjs/common';
import { Database, OutboxRepository, PersistenceModule, POOL_SIZES } from '@libs/persistence';
import { BrokerConnection, BrokerIdentity, MessagingModule, OutboxModule, Readiness } from '@libs/platform';
import type { VideoProviders } from './create-video-providers';
import type { VideoWorkerEnv } from './video-worker.env';
import { VideosModule } from './videos/videos.module';
import { WebhooksModule } from './webhooks/webhooks.module';

const APP = 'video-worker';

/** Makes videos, and delivers webhooks. */
@Module({})
export class VideoWorkerModule implements OnModuleInit {
  static for(env: VideoWorkerEnv, providers: VideoProviders): DynamicModule {
    return {
      module: VideoWorkerModule,
      imports: [
        PersistenceModule.forRoot({
          databaseUrl: env.DATABASE_URL,
          applicationName: APP,
          poolSize: POOL_SIZES[APP],
          byokFreeUsdPerMonth: env.BYOK_FREE_USD_PER_MONTH,
        }),
        MessagingModule.forRoot({
          amqpUrl: env.AMQP_URL,
          identity: BrokerIdentity.from(APP, env),
          serviceName: APP,
          follows: ['credentials'],
        }),
        OutboxModule.forRoot({ source: OutboxRepository }),
        VideosModule.with(providers),
        WebhooksModule,
      ],
    };
  }

  constructor(
    private readonly readiness: Readiness,
    private readonly database: Database,
    @Inject(BrokerConnection) private readonly broker: BrokerConnection,
  ) {}

  onModuleInit(): void {
    this.readiness.addCheck('postgresql', () => this.database.ping());
    this.readiness.addCheck('rabbitmq', () => this.broker.isConnected());
  }
}
