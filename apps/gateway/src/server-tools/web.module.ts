import { Module } from '@nestjs/common';
import { parseUsd } from '@libs/inference';
import { Egress } from '@libs/platform';
import { EgressModule } from '../egress.module';
import { GatewayEnv } from '../gateway.env';
import { HtmlReader } from '../parsers/html-reader';
import { ParsersModule } from '../parsers/parsers.module';
import { PdfReader } from '../parsers/pdf-reader';
import { PageReader } from './web-fetch-pages/page-reader';
import { WebSearch } from './web-search';
import { createSearchEngines } from './web-search-engines';

/** Web pages and searches, for server tools and plugins. */
@Module({
  imports: [EgressModule, ParsersModule],
  providers: [
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
        new WebSearch(
          createSearchEngines(env),
          parseUsd(env.WEB_SEARCH_COST_USD),
          env.SEARCH_KEEPS_NOTHING,
          env.WEB_SEARCH_WITHOUT_ENGINE === 'omit',
        ),
    },
  ],
  exports: [PageReader, WebSearch],
})
export class WebModule {}
