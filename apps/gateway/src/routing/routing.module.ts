import { Inject, Logger, Module, type OnApplicationShutdown } from '@nestjs/common';
import {
  CallerCredentials,
  CatalogueSource,
  createProviderAdapters,
  monotonicMs,
  parsePercent,
  PROTOCOLS,
  ProviderHealth,
  ReplyBudget,
  SharedCredentials,
  UpstreamHttp,
  watchSharedKeys,
  type ProviderAdapter,
} from '@libs/inference';
import { LastUses } from '@libs/persistence';
import { CredentialsClient, Egress, Feeds, MessageBus } from '@libs/platform';
import { EgressModule } from '../egress.module';
import { GatewayEnv, providerKeyVariables } from '../gateway.env';
import { TENANT_WEIGHTS } from '../http/edge-pools';
import { replyBudgetBytes } from '../process-memory';
import { InferenceRouting } from './inference-routing';

export type Adapters = ReadonlyMap<string, ProviderAdapter>;
export const ADAPTERS = Symbol('provider adapters');

/** Everything for routing: the catalogue, the connections to providers, the keys, and the choice among endpoints. */
@Module({
  imports: [EgressModule],
  providers: [
    { provide: CatalogueSource, inject: [GatewayEnv], useFactory: followCatalogue },
    /** How this process's calls ended, for its routes and its listings. */
    { provide: ProviderHealth, useFactory: () => new ProviderHealth(monotonicMs) },
    { provide: SharedCredentials, inject: [CatalogueSource], useFactory: readSharedKeys },
    {
      provide: CallerCredentials,
      inject: [SharedCredentials, MessageBus, Feeds, GatewayEnv, LastUses],
      useFactory: (shared: SharedCredentials, bus: MessageBus, feeds: Feeds, env: GatewayEnv, uses: LastUses) => {
        const options = {
          feed: feeds.of('credentials'),
          graceMs: env.KEY_GRACE_SECONDS * 1_000,
          onUse: uses.note.bind(uses),
        };
        return new CallerCredentials(shared, new CredentialsClient(bus, options));
      },
    },
    {
      provide: UpstreamHttp,
      inject: [GatewayEnv, Egress],
      useFactory: ({ MEMORY_BUDGET_MIB }: GatewayEnv, egress: Egress) =>
        new UpstreamHttp({
          replies: new ReplyBudget(replyBudgetBytes(MEMORY_BUDGET_MIB)),
          connectOwnPlace: egress.connector(),
          shares: TENANT_WEIGHTS,
        }),
    },
    { provide: ADAPTERS, inject: [UpstreamHttp], useFactory: (http: UpstreamHttp) => createProviderAdapters(http) },
    {
      provide: InferenceRouting,
      inject: [CatalogueSource, ADAPTERS, SharedCredentials, CallerCredentials, GatewayEnv],
      useFactory: (
        source: CatalogueSource,
        adapters: Adapters,
        credentials: SharedCredentials,
        callers: CallerCredentials,
        env: GatewayEnv,
      ) => {
        const fee = parsePercent(env.BYOK_FEE_PERCENT);
        return new InferenceRouting(source, adapters, credentials, { credentials: callers, fee });
      },
    },
  ],
  exports: [ADAPTERS, CallerCredentials, CatalogueSource, InferenceRouting, ProviderHealth],
})
export class RoutingModule implements OnApplicationShutdown {
  private readonly reload = (): void => void this.source.reload();

  constructor(
    @Inject(CatalogueSource) private readonly source: CatalogueSource,
    @Inject(UpstreamHttp) private readonly http: UpstreamHttp,
  ) {
    process.on('SIGHUP', this.reload);
  }

  async onApplicationShutdown(): Promise<void> {
    process.off('SIGHUP', this.reload);
    await this.source.close();
    await this.http.close();
  }
}

function readSharedKeys(source: CatalogueSource): SharedCredentials {
  const logger = new Logger('Catalogue');
  const credentials = new SharedCredentials(providerKeyVariables());
  watchSharedKeys(source, credentials, (text) => logger.warn(text));
  return credentials;
}

async function followCatalogue(env: GatewayEnv): Promise<CatalogueSource> {
  const logger = new Logger('Catalogue');
  const source = new CatalogueSource(env.CATALOG_PATH, {
    protocols: PROTOCOLS,
    onProblem: (problem) => logger.error('A changed catalogue was not taken; the earlier one stays', problem),
  });
  await source.start();
  source.onChange(() => logger.log('The changed catalogue is in use'));
  return source;
}
