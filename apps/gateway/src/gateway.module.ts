import { Inject, Module, type DynamicModule, type OnModuleInit } from '@nestjs/common';
import { LeftoverReads } from '@libs/inference';
import { Database, PersistenceModule, POOL_SIZES } from '@libs/persistence';
import { BrokerConnection, BrokerIdentity, DrainSteps, Feeds, MessagingModule, Readiness } from '@libs/platform';
import { AuditModule } from './audit/audit.module';
import { AuthModule } from './auth/auth.module';
import { BatchesModule } from './batches/batches.module';
import { CredentialsModule } from './credentials/credentials.module';
import { CreditsModule } from './credits/credits.module';
import { SolvencyModule } from './credits/solvency.module';
import { GatewayEnv } from './gateway.env';
import { GenerationRecorder } from './generations/generation-recorder';
import { GenerationsModule } from './generations/generations.module';
import { HttpModule } from './http/http.module';
import { InferenceModule } from './inference/inference.module';
import { KeyUsage } from './keys/key-usage';
import { KeysModule } from './keys/keys.module';
import { LedgerKeyUsage } from './keys/ledger-key-usage';
import { LimitsModule } from './limits/limits.module';
import { ModelsModule } from './models/models.module';
import { OauthModule } from './oauth/oauth.module';
import { OpenapiModule } from './openapi/openapi.module';
import { VideosModule } from './videos/videos.module';
import { WorkloadIdentityModule } from './workload-identity/workload-identity.module';
import { WorkspacesModule } from './workspaces/workspaces.module';

const APP = 'gateway';

@Module({ providers: [{ provide: KeyUsage, useClass: LedgerKeyUsage }], exports: [KeyUsage] })
class KeyUsageModule {}

/** Time within which a replaced auth app answers again. */
const AUTH_RESTART_MS = 10_000;
/** How long calls whose callers have disconnected are still read when the gateway stops. */
const LEFTOVER_PATIENCE_MS = 2_000;
/** Time that other shutdown steps leave for the end of such calls and for the charges of all calls. */
const LEFTOVER_MS = 3_000;
const CHARGES_MS = 2_000;

/** The only public door. */
@Module({})
export class GatewayModule implements OnModuleInit {
  static for(env: GatewayEnv): DynamicModule {
    return {
      module: GatewayModule,
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
          follows: ['access', 'credentials'],
        }),
        // Guards run in this order: authentication, rate limits, solvency, then the request itself.
        AuthModule,
        LimitsModule,
        SolvencyModule,
        HttpModule,
        GenerationsModule,
        InferenceModule,
        ModelsModule,
        BatchesModule,
        VideosModule,
        KeysModule.forRoot({ imports: [KeyUsageModule] }),
        CredentialsModule,
        CreditsModule,
        AuditModule,
        WorkspacesModule,
        OauthModule,
        WorkloadIdentityModule,
        OpenapiModule,
      ],
    };
  }

  constructor(
    private readonly readiness: Readiness,
    private readonly drainSteps: DrainSteps,
    private readonly database: Database,
    @Inject(BrokerConnection) private readonly broker: BrokerConnection,
    @Inject(GenerationRecorder) private readonly recorder: GenerationRecorder,
    @Inject(LeftoverReads) private readonly leftovers: LeftoverReads,
    @Inject(Feeds) private readonly feeds: Feeds,
    private readonly env: GatewayEnv,
  ) {}

  onModuleInit(): void {
    this.readiness.addCheck('postgresql', () => this.database.ping());
    const graceMs = this.env.KEY_GRACE_SECONDS * 1_000;
    // Known keys work without the broker for a while, but only if the gateway stays in service.
    this.readiness.addCheck('rabbitmq', () => this.broker.isConnected() || this.isAuthSeenWithin(graceMs));
    // A gateway that has not received API key data from the auth app, for example right after its start, can serve no
    // call.
    this.readiness.addCheck('auth', () => this.isAuthSeenWithin(Math.max(graceMs, AUTH_RESTART_MS)));
    this.drainSteps.add('leftover reads', (signal) => this.endLeftovers(signal), LEFTOVER_MS);
    this.drainSteps.add('charges', () => this.recorder.flush(), CHARGES_MS);
  }

  /** Gives calls whose callers have disconnected a little time to learn their usage; then their bills are estimated. */
  private async endLeftovers(signal: AbortSignal): Promise<void> {
    await this.leftovers.drain(AbortSignal.any([signal, AbortSignal.timeout(LEFTOVER_PATIENCE_MS)]));
    await this.recorder.calls.idle(AbortSignal.any([signal, AbortSignal.timeout(LEFTOVER_PATIENCE_MS)]));
  }

  private isAuthSeenWithin(ms: number): boolean {
    return performance.now() - this.feeds.of('access').confirmedAtMs < ms;
  }
}
