import { Inject, Module, type DynamicModule, type OnModuleInit } from '@nestjs/common';
import {
  AuditRepository,
  Database,
  LedgerAuditRepository,
  PersistenceModule,
  SingleRunner,
  POOL_SIZES,
} from '@libs/persistence';
import { BrokerConnection, BrokerIdentity, Egress, FeedOwnerModule, MessagingModule, Readiness } from '@libs/platform';
import { AuthEnv } from './auth.env';
import { ExpiredRowsRepository } from './expiry/expired-rows.repository';
import { ExpiryService } from './expiry/expiry.service';
import { AccessChangesConsumer } from './feeds/access-changes.consumer';
import { FeedSourceModule } from './feeds/feed-source.module';
import { ApiKeyEntity } from './accounts/api-key.entity';
import { KeysConsumer } from './keys/keys.consumer';
import { KeysRepository } from './keys/keys.repository';
import { KeysService } from './keys/keys.service';
import { LedgerAuditService } from './ledger-audit/ledger-audit.service';
import { AuthorizationCodeEntity } from './oauth/authorization-code.entity';
import { AuthorizationCodesConsumer } from './oauth/authorization-codes.consumer';
import { AuthorizationCodesRepository } from './oauth/authorization-codes.repository';
import { AuthorizationCodesService } from './oauth/authorization-codes.service';
import { ConsentSessionsConsumer } from './oauth/consent-sessions.consumer';
import { ConsentSessionsRepository } from './oauth/consent-sessions.repository';
import { ConsentSessionsService } from './oauth/consent-sessions.service';
import { OauthAppEntity } from './oauth/oauth-app.entity';
import { OrganizationEntity } from './accounts/organization.entity';
import { OrganizationsConsumer } from './organizations/organizations.consumer';
import { OrganizationsRepository } from './organizations/organizations.repository';
import { OrganizationsService } from './organizations/organizations.service';
import { parseSigningKeys } from './tokens/signing-keys';
import { SIGNING_KEYS, TokenKeysService } from './tokens/token-keys.service';
import { TokensConsumer } from './tokens/tokens.consumer';
import { FederationPolicyEntity } from './workload-identity/federation-policy.entity';
import { IdentityIssuerEntity } from './workload-identity/identity-issuer.entity';
import { fetchKeys } from './workload-identity/issuer-documents';
import { IssuerKeySets } from './workload-identity/issuer-key-sets';
import { IssuersConsumer } from './workload-identity/issuers.consumer';
import { IssuersRepository } from './workload-identity/issuers.repository';
import { IssuersService } from './workload-identity/issuers.service';
import { PoliciesConsumer } from './workload-identity/policies.consumer';
import { PoliciesRepository } from './workload-identity/policies.repository';
import { PoliciesService } from './workload-identity/policies.service';
import { TokenExchangeService } from './tokens/token-exchange.service';
import { UsedTokenIdsRepository } from './workload-identity/used-token-ids.repository';
import { BudgetsConsumer } from './workspaces/budgets.consumer';
import { BudgetsRepository } from './workspaces/budgets.repository';
import { BudgetsService } from './workspaces/budgets.service';
import { MembersConsumer } from './workspaces/members.consumer';
import { MembersRepository } from './workspaces/members.repository';
import { MembersService } from './workspaces/members.service';
import { WorkspaceBudgetEntity } from './workspaces/workspace-budget.entity';
import { WorkspaceMemberEntity } from './workspaces/workspace-member.entity';
import { WorkspaceEntity } from './accounts/workspace.entity';
import { WorkspacesConsumer } from './workspaces/workspaces.consumer';
import { WorkspacesRepository } from './workspaces/workspaces.repository';
import { WorkspacesService } from './workspaces/workspaces.service';

const APP = 'auth';

const entities = [
  ApiKeyEntity,
  OrganizationEntity,
  WorkspaceEntity,
  WorkspaceBudgetEntity,
  WorkspaceMemberEntity,
  OauthAppEntity,
  AuthorizationCodeEntity,
  IdentityIssuerEntity,
  FederationPolicyEntity,
];

/** Organizations, their workspaces and keys: who is calling, and who may get a key or act as one. */
@Module({
  controllers: [
    AccessChangesConsumer,
    KeysConsumer,
    OrganizationsConsumer,
    WorkspacesConsumer,
    BudgetsConsumer,
    MembersConsumer,
    AuthorizationCodesConsumer,
    ConsentSessionsConsumer,
    IssuersConsumer,
    PoliciesConsumer,
    TokensConsumer,
  ],
  providers: [
    KeysService,
    KeysRepository,
    OrganizationsService,
    OrganizationsRepository,
    WorkspacesService,
    WorkspacesRepository,
    BudgetsService,
    BudgetsRepository,
    MembersService,
    MembersRepository,
    AuthorizationCodesService,
    AuthorizationCodesRepository,
    ConsentSessionsService,
    ConsentSessionsRepository,
    IssuersService,
    IssuersRepository,
    PoliciesService,
    PoliciesRepository,
    TokenKeysService,
    TokenExchangeService,
    UsedTokenIdsRepository,
    ExpiredRowsRepository,
    {
      provide: IssuerKeySets,
      inject: [Egress],
      useFactory: (egress: Egress) => new IssuerKeySets({ fetchKeys: (source) => fetchKeys(egress, source) }),
    },
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
          poolSize: POOL_SIZES[APP],
          entities,
        }),
        MessagingModule.forRoot({ amqpUrl: env.AMQP_URL, identity: BrokerIdentity.from(APP, env), serviceName: APP }),
        FeedSourceModule,
        FeedOwnerModule.forRoot({ feed: 'access', imports: [FeedSourceModule] }),
      ],
      providers: [
        {
          provide: ExpiryService,
          inject: [ExpiredRowsRepository, AuditRepository, SingleRunner],
          useFactory: (rows: ExpiredRowsRepository, audit: AuditRepository, runner: SingleRunner) =>
            new ExpiryService(rows, audit, env.AUDIT_RETENTION_DAYS, runner),
        },
        {
          provide: LedgerAuditService,
          inject: [LedgerAuditRepository, SingleRunner],
          useFactory: (audits: LedgerAuditRepository, runner: SingleRunner) =>
            new LedgerAuditService(audits, runner, {
              hourUtc: env.LEDGER_AUDIT_HOUR_UTC,
              fullDays: env.LEDGER_AUDIT_FULL_DAYS,
            }),
        },
        { provide: Egress, useValue: new Egress({ allowCidrs: env.EGRESS_ALLOW_CIDRS ?? [] }) },
        {
          provide: SIGNING_KEYS,
          useValue: env.TOKEN_SIGNING_KEYS ? parseSigningKeys(env.TOKEN_SIGNING_KEYS.reveal()) : [],
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
