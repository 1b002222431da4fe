import { Inject, Module, type DynamicModule, type OnModuleInit } from '@nestjs/common';
import { Database, PersistenceModule } from '@libs/persistence';
import { BrokerConnection, MessagingModule, Readiness } from '@libs/platform';
import { AuthEnv } from './auth.env';
import { ApiKeyEntity } from './keys/api-key.entity';
import { KeysConsumer } from './keys/keys.consumer';
import { KeysRepository } from './keys/keys.repository';
import { KeysService } from './keys/keys.service';
import { OrganizationEntity } from './organizations/organization.entity';
import { OrganizationsConsumer } from './organizations/organizations.consumer';
import { OrganizationsRepository } from './organizations/organizations.repository';
import { OrganizationsService } from './organizations/organizations.service';
import { WorkspaceEntity } from './workspaces/workspace.entity';
import { WorkspacesConsumer } from './workspaces/workspaces.consumer';
import { WorkspacesRepository } from './workspaces/workspaces.repository';
import { WorkspacesService } from './workspaces/workspaces.service';

const APP = 'auth';

/** Who is calling: organizations, their workspaces and their keys. */
@Module({
  controllers: [KeysConsumer, OrganizationsConsumer, WorkspacesConsumer],
  providers: [
    KeysService,
    KeysRepository,
    OrganizationsService,
    OrganizationsRepository,
    WorkspacesService,
    WorkspacesRepository,
  ],
})
export class AuthModule implements OnModuleInit {
  static for(env: AuthEnv): DynamicModule {
    return {
      module: AuthModule,
      imports: [
        PersistenceModule.forRoot({
          databaseUrl: env.DATABASE_URL,
          applicationName: APP,
          entities: [ApiKeyEntity, OrganizationEntity, WorkspaceEntity],
        }),
        MessagingModule.forRoot({ amqpUrl: env.AMQP_URL, serviceName: APP }),
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
