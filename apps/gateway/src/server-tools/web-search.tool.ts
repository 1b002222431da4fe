import { AppError } from '@libs/errors';
import type { ToolDefinition } from '@libs/inference';
import { failedUse, type BoundTool, type ServerTool, type ToolContext, type ToolOutcome } from './server-tool';
import { fieldsOf, type Fields } from './named-tools';
import { describeHits, type SearchSetup, type WebSearch } from './web-search';
import { readSearchSettings } from './web-search-settings';

const DEFINITION: ToolDefinition = {
  name: 'web_search',
  description:
    'Searches the web. Returns pages with their address, title and text. Cite the pages that you use as markdown links.',
  parameters: {
    type: 'object',
    properties: { query: { type: 'string', description: 'What to search for' } },
    required: ['query'],
    additionalProperties: false,
  },
};

/** Searches the web with one of the installation's engines. */
export class WebSearchTool implements ServerTool {
  readonly name = 'web_search';
  readonly aliases = [
    'web_search',
    'web_search_2025_08_26',
    'web_search_preview',
    'web_search_preview_2025_03_11',
  ] as const;

  constructor(private readonly web: WebSearch) {}

  get isReady(): boolean {
    return this.web.hasEngine;
  }

  get isOptional(): boolean {
    return this.web.isOptional;
  }

  bind(parameters: Fields, path: string): BoundTool {
    const names = { allowed: 'allowed_domains', excluded: 'excluded_domains' };
    return new BoundWebSearch(this.web, this.web.setUp(readSearchSettings(parameters, path, names), path));
  }
}

class BoundWebSearch implements BoundTool {
  readonly definition = DEFINITION;
  readonly pendingItem = {};
  readonly mostPicoUsd: bigint;
  readonly keeper: string | undefined;
  #uses = 0;
  /** Number of results so far, including those that running searches may still find. */
  #results = 0;

  constructor(
    private readonly web: WebSearch,
    private readonly setup: SearchSetup,
  ) {
    this.mostPicoUsd = web.costPicoUsd;
    this.keeper = setup.keeper;
  }

  async run(args: unknown, work: ToolContext): Promise<ToolOutcome> {
    const { query } = fieldsOf(args);
    if (typeof query !== 'string' || query.trim() === '') return failedUse('The argument query must be a text.');
    const { maxUses, maxResults, maxTotalResults } = this.setup.settings;
    const most = Math.min(maxResults, (maxTotalResults ?? Number.POSITIVE_INFINITY) - this.#results);
    if (this.#uses >= (maxUses ?? Number.POSITIVE_INFINITY) || most <= 0) {
      return failedUse('No more searches are allowed in this request. Answer with what is there.');
    }
    this.#uses += 1;
    this.#results += most;
    return await this.#search(query, most, work);
  }

  async #search(query: string, most: number, work: ToolContext): Promise<ToolOutcome> {
    work.signal.throwIfAborted();
    let found = 0;
    try {
      const hits = await this.web.search(this.setup, query, { most, work });
      found = hits.length;
      const text = hits.length === 0 ? 'The search found nothing.' : describeHits(hits);
      return {
        parts: [{ type: 'text', text }],
        isError: false,
        item: { action: { type: 'search', query, sources: hits.map(({ url }) => ({ type: 'url', url })) } },
        sources: hits.map(({ url, title, text: content }) => ({ type: 'url-citation', url, title, content })),
        search: { engine: this.setup.engine.name, results: found },
        costPicoUsd: this.web.costPicoUsd,
      };
    } catch (error) {
      // The engine continues a search that was sent to it, and charges for it.
      if (work.signal.aborted) return failedUse('The search was not waited for.', {}, this.web.costPicoUsd);
      if (!(error instanceof AppError)) throw error;
      return failedUse(`${error.message}.`, { action: { type: 'search', query, sources: [] } });
    } finally {
      this.#results -= most - found;
    }
  }
}
