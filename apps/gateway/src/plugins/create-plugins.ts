import type { ResolvedModel, UnresolvedModel } from '@libs/inference';
import type { Egress } from '@libs/platform';
import type { ParserPool } from '../parsers/parser-pool';
import type { PdfReader } from '../parsers/pdf-reader';
import type { PageReader } from '../server-tools/web-fetch-pages/page-reader';
import type { WebSearch } from '../server-tools/web-search';
import { AlignmentPlugin } from './alignment.plugin';
import { ContextCompressionPlugin } from './context-compression.plugin';
import { FileParserPlugin } from './file-parser.plugin';
import { FileReader } from './file-reader';
import { ModerationPlugin, type ModerationService } from './moderation.plugin';
import { Plugins } from './plugins';
import { ResponseHealingPlugin } from './response-healing.plugin';
import { WebFetchPlugin } from './web-fetch.plugin';
import { WebPlugin } from './web.plugin';

export interface PluginParts {
  readonly web: WebSearch;
  readonly pages: PageReader;
  readonly egress: Egress;
  readonly pdf: PdfReader;
  readonly parsers: ParserPool;
  /** Null if none is configured. */
  readonly moderation: ModerationService | null;
  /** The model that judges answers; null if none is configured. */
  readonly alignmentModel: string | null;
  readonly resolve: (name: string) => ResolvedModel | UnresolvedModel;
}

/**
 * Creates the plugins in the order in which they run: those that judge the request first, those that lengthen it before
 * those that shorten it.
 */
export function createPlugins({
  web,
  pages,
  egress,
  pdf,
  parsers,
  moderation,
  alignmentModel,
  resolve,
}: PluginParts): Plugins {
  const plugins = [
    new ModerationPlugin(moderation),
    new FileParserPlugin(new FileReader(egress, pdf)),
    new WebFetchPlugin(pages),
    new WebPlugin(web),
    new ContextCompressionPlugin(),
    new AlignmentPlugin(alignmentModel),
    new ResponseHealingPlugin(parsers),
  ];
  return new Plugins(plugins, resolve);
}
