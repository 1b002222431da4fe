import { AppError } from '@libs/errors';
import type { ToolDefinition } from '@libs/inference';
import { fieldsOf, refusal, type Fields } from './named-tools';
import { failedUse, type BoundTool, type ServerTool, type ToolContext, type ToolOutcome } from './server-tool';
import type { Page, PageReader } from './web-fetch-pages/page-reader';
import { readFetchSettings, type FetchSettings } from './web-fetch-settings';

const DEFINITION: ToolDefinition = {
  name: 'web_fetch',
  description: 'Reads a page of the web, a PDF or a text file by its address. Returns its text.',
  parameters: {
    type: 'object',
    properties: { url: { type: 'string', description: 'The address, beginning with https://' } },
    required: ['url'],
    additionalProperties: false,
  },
};

/** Reads a page of the web through the egress door. */
export class WebFetchTool implements ServerTool {
  readonly name = 'web_fetch';

  constructor(
    private readonly pages: PageReader,
    /** The `<service>` name of the API, which is this tool's only engine. */
    private readonly serviceName: string,
  ) {}

  bind(parameters: Fields, path: string): BoundTool {
    const engine = parameters['engine'] ?? 'auto';
    if (engine !== 'auto' && engine !== this.serviceName) {
      throw refusal(`${path}.engine`, `is not configured here; there are auto, ${this.serviceName}`);
    }
    return new BoundWebFetch(this.pages, readFetchSettings(parameters, path));
  }
}

class BoundWebFetch implements BoundTool {
  readonly definition = DEFINITION;
  #uses = 0;

  constructor(
    private readonly pages: PageReader,
    private readonly settings: FetchSettings,
  ) {}

  async run(args: unknown, work: ToolContext): Promise<ToolOutcome> {
    const { url } = fieldsOf(args);
    if (typeof url !== 'string' || url === '') return failedUse('The argument url must be a text.');
    if (this.#uses >= (this.settings.maxUses ?? Number.POSITIVE_INFINITY)) {
      return failedUse('No more pages may be read in this request. Answer with what is there.', { url });
    }
    if (work.callerLinks?.has(url) === false) {
      return failedUse('Only addresses that the user gave, spelled in the same way, may be read in this request.', {
        url,
      });
    }
    this.#uses += 1;
    try {
      return outcomeOf(url, await this.pages.read(url, { ...this.settings, work }));
    } catch (error) {
      work.signal.throwIfAborted();
      if (!(error instanceof AppError)) throw error;
      return failedUse(`${error.message}.`, { url, error: error.message });
    }
  }
}

function outcomeOf(asked: string, page: Page): ToolOutcome {
  const { httpStatus, title, content, url } = page;
  if (httpStatus >= 400) {
    const error = `The server answered with status ${httpStatus}`;
    return failedUse(`${error}.`, { url: asked, httpStatus, error });
  }
  const names = { url, ...(title !== null && { title }) };
  return {
    parts: [{ type: 'text', text: describePage(page) }],
    isError: false,
    item: { ...names, content, httpStatus },
    sources: [{ type: 'url-citation', url, title: title ?? '' }],
    costPicoUsd: 0n,
  };
}

/** Returns a page as text that a model can read and cite. */
export function describePage({ url, title, content, isCut }: Page): string {
  const head = [...(title === null ? [] : [`Title: ${title}`]), `URL: ${url}`];
  return [...head, '', content, ...(isCut ? ['', '(The rest of the page is left out.)'] : [])].join('\n');
}
