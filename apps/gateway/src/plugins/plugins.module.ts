import { Global, Module } from '@nestjs/common';
import { parseUsd, resolveModel } from '@libs/inference';
import { Egress } from '@libs/platform';
import { GatewayEnv } from '../gateway.env';
import { InferenceRouting } from '../routing/inference-routing';
import { HtmlReader } from '../parsers/html-reader';
import { ParserPool } from '../parsers/parser-pool';
import { PdfReader } from '../parsers/pdf-reader';
import { PageReader } from '../server-tools/web-fetch-pages/page-reader';
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
    { provide: ParserPool, useFactory: () => new ParserPool() },
    { provide: PdfReader, inject: [ParserPool], useFactory: (parsers: ParserPool) => new PdfReader(parsers) },
    { provide: HtmlReader, inject: [ParserPool], useFactory: (parsers: ParserPool) => new HtmlReader(parsers) },
    {
      provide: PageReader,
      inject: [Egress, PdfReader, HtmlReader, GatewayEnv],
      useFactory: (egress: Egress, pdf: PdfReader, html: HtmlReader, env: GatewayEnv) =>
        new PageReader(egress, pdf, html, `Mozilla/5.0 (compatible; ${env.SERVICE_NAME})`),
    },
    {
      provide: WebSearch,
      inject: [GatewayEnv],
      useFactory: (env: GatewayEnv) =>
        new WebSearch(createSearchEngines(env), parseUsd(env.WEB_SEARCH_COST_USD), env.SEARCH_KEEPS_NOTHING),
    },
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
          resolve: (name) => resolveModel(name, routing.catalogue()),
        }),
    },
  ],
  exports: [Egress, ParserPool, PdfReader, PageReader, WebSearch, Plugins],
})
export class PluginsModule {}

function moderationOf(env: GatewayEnv): PluginParts['moderation'] {
  const { MODERATION_URL: url, MODERATION_API_KEY: key, MODERATION_MODEL: model } = env;
  const keepsNothing = env.MODERATION_KEEPS_NOTHING;
  return url === undefined ? null : { url, key: key ?? null, model: model ?? null, keepsNothing };
}
