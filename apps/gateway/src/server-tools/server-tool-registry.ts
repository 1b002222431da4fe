import type { ParserPool } from '../parsers/parser-pool';
import { DatetimeTool } from './datetime.tool';
import { ImageGenerationTool, type ImageGenerationParts } from './image-generation.tool';
import type { ServerTool } from './server-tool';
import { ToolSearchTool } from './tool-search.tool';
import type { PageReader } from './web-fetch-pages/page-reader';
import { WebFetchTool } from './web-fetch.tool';
import type { WebSearch } from './web-search';
import { WebSearchTool } from './web-search.tool';

export interface ServerToolParts extends ImageGenerationParts {
  readonly web: WebSearch;
  readonly pages: PageReader;
  readonly parsers: ParserPool;
  /** The `<service>` of the interface. */
  readonly serviceName: string;
}

/** Creates the tools that the gateway runs itself, one per line. */
export function createServerTools(parts: ServerToolParts): readonly ServerTool[] {
  return [
    new DatetimeTool(),
    new ImageGenerationTool(parts),
    new ToolSearchTool(parts.parsers),
    new WebSearchTool(parts.web),
    new WebFetchTool(parts.pages, parts.serviceName),
  ];
}
