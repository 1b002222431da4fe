import { Global, Inject, Logger, Module, type OnApplicationShutdown } from '@nestjs/common';
import {
  CallerCredentials,
  CatalogueSource,
  createProviderAdapters,
  PROTOCOLS,
  InferenceEngine,
  LeftoverReads,
  parsePercent,
  ProviderHealth,
  SharedCredentials,
  UpstreamHttp,
  type ProviderAdapter,
  monotonicMs,
} from '@libs/inference';
import { LastUses } from '@libs/persistence';
import { CredentialsClient, Egress, Feeds, gauge, MessageBus, noteOwnFault } from '@libs/platform';
import { GatewayEnv, providerKeyVariables } from '../gateway.env';
import { CallContents } from '../generations/call-contents';
import { TENANT_WEIGHTS } from '../http/edge-pools';
import { GenerationRecorder } from '../generations/generation-recorder';
import { InferenceLimits } from '../limits/inference-limits';
import { PdfMeter } from '../parsers/pdf-meter';
import { ParserPool } from '../parsers/parser-pool';
import { PdfReader } from '../parsers/pdf-reader';
import { Plugins } from '../plugins/plugins';
import { replyBudgetBytes } from '../process-memory';
import {
  createServerToolEngine,
  imageModelsOf,
  mostPictureTokens,
  picturePicoUsd,
} from '../server-tools/create-server-tool-engine';
import { ServerToolEngine } from '../server-tools/server-tool-engine';
import { createServerTools } from '../server-tools/server-tool-registry';
import { PageReader } from '../server-tools/web-fetch-pages/page-reader';
import { WebSearch } from '../server-tools/web-search';
import { CallReplier } from './call-replier';
import { ChatCompletionsController } from './chat-completions.controller';
import { EmbeddingsController } from './embeddings.controller';
import { InferenceRouting } from '../routing/inference-routing';
import { InferenceService } from './inference.service';
import { MessagesController } from './messages.controller';
import { ResponsesController } from './responses.controller';
import { TranscriptionIntake } from './transcription-intake';
import { TranscriptionReplier } from './transcription-replier';
import { TranscriptionService } from './transcription.service';
import { TranscriptionsController } from './transcriptions.controller';

type Adapters = ReadonlyMap<string, ProviderAdapter>;
const ADAPTERS = Symbol('provider adapters');
const engineLogger = new Logger(InferenceEngine.name);

/** The engine over the operator's catalogue and keys, and the routes that call it. */
@Global()
@Module({
  controllers: [
    ChatCompletionsController,
    ResponsesController,
    MessagesController,
    EmbeddingsController,
    TranscriptionsController,
  ],
  providers: [
    { provide: CatalogueSource, inject: [GatewayEnv], useFactory: followCatalogue },
    { provide: SharedCredentials, useFactory: () => new SharedCredentials(providerKeyVariables()) },
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
          mostReplyBytes: replyBudgetBytes(MEMORY_BUDGET_MIB),
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
    {
      provide: InferenceEngine,
      inject: [CatalogueSource, ADAPTERS, CallerCredentials, GatewayEnv],
      useFactory: (source: CatalogueSource, adapters: Adapters, credentials: CallerCredentials, env: GatewayEnv) =>
        new InferenceEngine({
          catalogue: () => source.current(),
          adapters,
          credentials,
          health: new ProviderHealth(monotonicMs),
          clock: monotonicMs,
          dice: Math.random,
          onOwnFault: (error, { endpoint }) => noteOwnFault(error, endpoint.provider.slug, engineLogger),
          byokFee: parsePercent(env.BYOK_FEE_PERCENT),
          timeouts: {
            headersMs: env.UPSTREAM_HEADERS_TIMEOUT_MS,
            idleMs: env.UPSTREAM_IDLE_TIMEOUT_MS,
            totalMs: env.UPSTREAM_TOTAL_TIMEOUT_MS,
          },
        }),
    },
    {
      provide: ServerToolEngine,
      inject: [InferenceEngine, InferenceRouting, WebSearch, PageReader, ParserPool, GatewayEnv],
      useFactory: (
        engine: InferenceEngine,
        routing: InferenceRouting,
        web: WebSearch,
        pages: PageReader,
        parsers: ParserPool,
        { SERVICE_NAME: serviceName }: GatewayEnv,
      ) => {
        const tools = createServerTools({
          engine,
          imageModels: () => imageModelsOf(routing),
          mostTokens: (model) => mostPictureTokens(routing, model),
          picturePicoUsd: (model, promptTokens) => picturePicoUsd(routing, model, promptTokens),
          web,
          pages,
          parsers,
          serviceName,
        });
        return createServerToolEngine({ engine, routing, serviceName, tools });
      },
    },
    {
      provide: InferenceService,
      inject: [
        InferenceEngine,
        InferenceRouting,
        GenerationRecorder,
        ServerToolEngine,
        Plugins,
        InferenceLimits,
        PdfReader,
      ],
      useFactory: (
        engine: InferenceEngine,
        routing: InferenceRouting,
        recorder: GenerationRecorder,
        serverTools: ServerToolEngine,
        plugins: Plugins,
        limits: InferenceLimits,
        pdf: PdfReader,
      ) =>
        new InferenceService(
          engine,
          routing,
          recorder,
          serverTools,
          plugins,
          limits,
          () => performance.now(),
          new PdfMeter(pdf),
        ),
    },
    { provide: LeftoverReads, inject: [GatewayEnv], useFactory: boundLeftovers },
    {
      provide: CallReplier,
      inject: [InferenceService, GatewayEnv, CallContents, LeftoverReads],
      useFactory: (
        inference: InferenceService,
        env: GatewayEnv,
        contents: CallContents | null,
        leftovers: LeftoverReads,
      ) => {
        const pace = { firstCommentMs: env.STREAM_FIRST_COMMENT_MS };
        return new CallReplier(inference, env.SERVICE_NAME, contents, pace, leftovers);
      },
    },
    {
      provide: TranscriptionReplier,
      inject: [
        InferenceEngine,
        InferenceRouting,
        GenerationRecorder,
        Egress,
        GatewayEnv,
        InferenceLimits,
        LeftoverReads,
      ],
      useFactory: (
        engine: InferenceEngine,
        routing: InferenceRouting,
        recorder: GenerationRecorder,
        egress: Egress,
        env: GatewayEnv,
        limits: InferenceLimits,
        leftovers: LeftoverReads,
      ) => {
        const service = new TranscriptionService(engine, routing, recorder, env.TRANSCRIPTION_TIMEOUT_MS, limits);
        return new TranscriptionReplier(new TranscriptionIntake(egress), service, env.SERVICE_NAME, leftovers);
      },
    },
  ],
  exports: [InferenceRouting, CallerCredentials, LeftoverReads],
})
export class InferenceModule implements OnApplicationShutdown {
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

function boundLeftovers(env: GatewayEnv): LeftoverReads {
  const reads = new LeftoverReads({
    mostReads: env.LEFTOVER_READS,
    longestMs: env.LEFTOVER_READ_MS,
    mostTokens: env.LEFTOVER_READ_TOKENS,
    mostBytes: env.LEFTOVER_READ_BYTES,
  });
  gauge({
    name: 'sluice_leftover_reads',
    help: 'Upstream calls that are read on for their usage after their callers disconnected',
    collect: (metric) => metric.set(reads.size),
  });
  return reads;
}

async function followCatalogue(env: GatewayEnv): Promise<CatalogueSource> {
  const logger = new Logger('Catalogue');
  const source = new CatalogueSource(env.CATALOG_PATH, {
    protocols: PROTOCOLS,
    onProblem: (problem) => logger.error('A changed catalogue was not taken; the earlier one stays', problem),
  });
  await source.start();
  return source;
}
