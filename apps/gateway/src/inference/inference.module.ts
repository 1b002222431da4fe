import { Logger, Module } from '@nestjs/common';
import {
  CallerCredentials,
  CatalogueSource,
  InferenceEngine,
  LeftoverReads,
  parsePercent,
  ProviderHealth,
  monotonicMs,
} from '@libs/inference';
import { Egress, gauge, noteOwnFault, noteUpstreamAttempt } from '@libs/platform';
import { EgressModule } from '../egress.module';
import { GatewayEnv } from '../gateway.env';
import { CallContents } from '../generations/call-contents';
import { GenerationsModule } from '../generations/generations.module';
import { LimitsModule } from '../limits/limits.module';
import { ParserPool } from '../parsers/parser-pool';
import { ParsersModule } from '../parsers/parsers.module';
import { PluginsModule } from '../plugins/plugins.module';
import {
  createServerToolEngine,
  imageModelsOf,
  mostPictureTokens,
  picturePicoUsd,
} from '../server-tools/create-server-tool-engine';
import { ServerToolEngine } from '../server-tools/server-tool-engine';
import { createServerTools } from '../server-tools/server-tool-registry';
import { PageReader } from '../server-tools/web-fetch-pages/page-reader';
import { WebModule } from '../server-tools/web.module';
import { WebSearch } from '../server-tools/web-search';
import { CallReplier } from './call-replier';
import { ChatCompletionsController } from './chat-completions.controller';
import { EmbeddingsController } from './embeddings.controller';
import { InferenceRouting } from '../routing/inference-routing';
import { ADAPTERS, RoutingModule, type Adapters } from '../routing/routing.module';
import { InferenceService } from './inference.service';
import { MessagesController } from './messages.controller';
import { ResponsesController } from './responses.controller';
import { TranscriptionIntake } from './transcription-intake';
import { TranscriptionReplier } from './transcription-replier';
import { TranscriptionService } from './transcription.service';
import { TranscriptionsController } from './transcriptions.controller';

const engineLogger = new Logger(InferenceEngine.name);

/** The engine with the operator's catalogue and keys, and the routes that call it. */
@Module({
  imports: [EgressModule, GenerationsModule, LimitsModule, ParsersModule, PluginsModule, RoutingModule, WebModule],
  controllers: [
    ChatCompletionsController,
    ResponsesController,
    MessagesController,
    EmbeddingsController,
    TranscriptionsController,
  ],
  providers: [
    {
      provide: InferenceEngine,
      inject: [CatalogueSource, ADAPTERS, CallerCredentials, ProviderHealth, GatewayEnv],
      useFactory: (
        source: CatalogueSource,
        adapters: Adapters,
        credentials: CallerCredentials,
        health: ProviderHealth,
        env: GatewayEnv,
      ) =>
        new InferenceEngine({
          catalogue: () => source.current(),
          adapters,
          credentials,
          health,
          clock: monotonicMs,
          dice: Math.random,
          onOwnFault: (error, { endpoint }) => noteOwnFault(error, endpoint.provider.slug, engineLogger),
          onAttempt: ({ endpoint, model }, outcome, error) =>
            noteUpstreamAttempt({ provider: endpoint.provider.slug, model: model.slug, outcome }, error, engineLogger),
          byokFee: parsePercent(env.BYOK_FEE_PERCENT),
          capsOutput: env.OUTPUT_ABOVE_LIMIT === 'cap',
          region: env.GATEWAY_REGION ?? null,
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
    InferenceService,
    TranscriptionService,
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
      inject: [TranscriptionService, Egress, GatewayEnv, LeftoverReads],
      useFactory: (service: TranscriptionService, egress: Egress, env: GatewayEnv, leftovers: LeftoverReads) =>
        new TranscriptionReplier(new TranscriptionIntake(egress), service, env.SERVICE_NAME, leftovers),
    },
  ],
  exports: [LeftoverReads],
})
export class InferenceModule {}

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
