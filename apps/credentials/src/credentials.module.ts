import { Inject, Module, type DynamicModule, type OnModuleInit } from '@nestjs/common';
import { Database, PersistenceModule, POOL_SIZES } from '@libs/persistence';
import { BrokerConnection, BrokerIdentity, FeedOwnerModule, MessagingModule, Readiness } from '@libs/platform';
import type { CredentialsEnv } from './credentials.env';
import { CredentialChangesConsumer } from './feeds/credential-changes.consumer';
import { FeedSourceModule } from './feeds/feed-source.module';
import { CredentialEntity } from './vault/credential.entity';
import { CredentialsConsumer } from './vault/credentials.consumer';
import { CredentialsRepository } from './vault/credentials.repository';
import { CredentialsService } from './vault/credentials.service';
import { EnvelopeCipher } from './vault/envelope-cipher';
import { IntakeKeys } from './vault/intake-keys';
import { IntakeSeeds } from './vault/intake-seeds';
import { parseKeyRing } from './vault/key-ring';
import { KeyWrapper } from './key-services/key-wrapper';
import { KeyVerdictsRepository } from './vault/key-verdicts.repository';
import { KeyVerdictsService } from './vault/key-verdicts.service';
import { OpeningService } from './vault/opening.service';
import { OpenJobsRepository } from './vault/open-jobs.repository';
import { RingKeyWrapper } from './vault/ring-key-wrapper';
import { RewrappingService } from './vault/rewrapping.service';
import { SealedCredentialsRepository } from './vault/sealed-credentials.repository';
import { TenancyService } from './vault/tenancy.service';
import { VaultConsumer } from './vault/vault.consumer';
import { WebhookSecretsConsumer } from './webhook-secrets/webhook-secrets.consumer';
import { WebhookSecretsRepository } from './webhook-secrets/webhook-secrets.repository';
import { WebhookSecretsService } from './webhook-secrets/webhook-secrets.service';

const APP = 'credentials';

/** Stores callers' own provider keys and webhook signing secrets; the only process that can decrypt them. */
@Module({
  controllers: [CredentialChangesConsumer, CredentialsConsumer, VaultConsumer, WebhookSecretsConsumer],
  providers: [
    CredentialsService,
    CredentialsRepository,
    SealedCredentialsRepository,
    TenancyService,
    KeyVerdictsRepository,
    KeyVerdictsService,
    OpeningService,
    OpenJobsRepository,
    RewrappingService,
    EnvelopeCipher,
    WebhookSecretsService,
    WebhookSecretsRepository,
  ],
})
export class CredentialsModule implements OnModuleInit {
  static for(env: CredentialsEnv): DynamicModule {
    const ring = parseKeyRing(env.CREDENTIALS_KEYRING.reveal());
    return {
      module: CredentialsModule,
      imports: [
        PersistenceModule.forRoot({
          databaseUrl: env.DATABASE_URL,
          applicationName: APP,
          poolSize: POOL_SIZES[APP],
          entities: [CredentialEntity],
        }),
        MessagingModule.forRoot({ amqpUrl: env.AMQP_URL, identity: BrokerIdentity.from(APP, env), serviceName: APP }),
        FeedSourceModule,
        FeedOwnerModule.forRoot({ feed: 'credentials', imports: [FeedSourceModule] }),
      ],
      providers: [
        { provide: KeyWrapper, useValue: new RingKeyWrapper(ring, env) },
        {
          provide: IntakeKeys,
          inject: [Database, KeyWrapper],
          useFactory: (database: Database, keys: KeyWrapper) => new IntakeKeys(ring, new IntakeSeeds(database, keys)),
        },
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
