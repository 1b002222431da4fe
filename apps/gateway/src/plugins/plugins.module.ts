import { Global, Module } from '@nestjs/common';
import { parseUsd, resolveModel } from '@libs/inference';
import { Egress } from '@libs/platform';
import { GatewayEnv } from '../gateway.env';
import { InferenceRouting } from '../inference/inference-routing';
import { PageReader } from '../server-tools/web-fetch-pages/page-reader';
import { PdfReader } from '../server-tools/web-fetch-pages/pdf-reader';
import { WebSearch } from '../server-tools/web-search';
import { createSearchEngines } from '../server-tools/web-search-engines';
import { createPlugins, type PluginParts } from './create-plugins';
import { Plugins } from './plugins';

/** The plugins, and the ways to the web that they share with the server tools. */
@Global()
@Module({
  providers: [
    {
      provide: Egress,
      inject: [GatewayEnv],
      useFactory: (env: GatewayEnv) => new Egress({ allowCidrs: env.EGRESS_ALLOW_CIDRS ?? [] }),
    },
    { provide: PdfReader, useFactory: () => new PdfReader() },
    {
      provide: PageReader,
      inject: [Egress, PdfReader, GatewayEnv],
      useFactory: (egress: Egress, pdf: PdfReader, env: GatewayEnv) =>
        new PageReader(egress, pdf, `Mozilla/5.0 (compatible; ${env.SERVICE_NAME})`),
    },
    {
      provide: WebSearch,
      inject: [GatewayEnv],
      useFactory: (env: GatewayEnv) => new WebSearch(createSearchEngines(env), parseUsd(env.WEB_SEARCH_COST_USD)),
    },
    {
      provide: Plugins,
      inject: [WebSearch, PageReader, Egress, PdfReader, InferenceRouting, GatewayEnv],
      useFactory: (
        web: WebSearch,
        pages: PageReader,
        egress: Egress,
        pdf: PdfReader,
        routing: InferenceRouting,
        env: GatewayEnv,
      ) =>
        createPlugins({
          web,
          pages,
          egress,
          pdf,
          moderation: moderationOf(env),
          resolve: (name) => resolveModel(name, routing.catalogue()),
        }),
    },
  ],
  exports: [Egress, PdfReader, PageReader, WebSearch, Plugins],
})
export class PluginsModule {}

function moderationOf(env: GatewayEnv): PluginParts['moderation'] {
  const { MODERATION_URL: url, MODERATION_API_KEY: key, MODERATION_MODEL: model } = env;
  return url === undefined ? null : { url, key: key ?? null, model: model ?? null };
}
