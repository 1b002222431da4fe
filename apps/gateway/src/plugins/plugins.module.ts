import { Module } from '@nestjs/common';
import { resolveModel } from '@libs/inference';
import { Egress } from '@libs/platform';
import { EgressModule } from '../egress.module';
import { GatewayEnv } from '../gateway.env';
import { InferenceRouting } from '../routing/inference-routing';
import { RoutingModule } from '../routing/routing.module';
import { ParserPool } from '../parsers/parser-pool';
import { ParsersModule } from '../parsers/parsers.module';
import { PdfReader } from '../parsers/pdf-reader';
import { PageReader } from '../server-tools/web-fetch-pages/page-reader';
import { WebModule } from '../server-tools/web.module';
import { WebSearch } from '../server-tools/web-search';
import { createPlugins, type PluginParts } from './create-plugins';
import { Plugins } from './plugins';

@Module({
  imports: [EgressModule, ParsersModule, RoutingModule, WebModule],
  providers: [
    {
      provide: Plugins,
      inject: [WebSearch, PageReader, Egress, PdfReader, ParserPool, InferenceRouting, GatewayEnv],
      useFactory: (
        web: WebSearch,
        pages: PageReader,
        egress: Egress,
        pdf: PdfReader,
        parsers: ParserPool,
        routing: InferenceRouting,
        env: GatewayEnv,
      ) =>
        createPlugins({
          web,
          pages,
          egress,
          pdf,
          parsers,
          moderation: moderationOf(env),
          alignmentModel: env.ALIGNMENT_MODEL ?? null,
          resolve: (name) => resolveModel(name, routing.catalogue()),
        }),
    },
  ],
  exports: [Plugins],
})
export class PluginsModule {}

function moderationOf(env: GatewayEnv): PluginParts['moderation'] {
  const { MODERATION_URL: url, MODERATION_API_KEY: key, MODERATION_MODEL: model } = env;
  const keepsNothing = env.MODERATION_KEEPS_NOTHING;
  return url === undefined ? null : { url, key: key ?? null, model: model ?? null, keepsNothing };
}
