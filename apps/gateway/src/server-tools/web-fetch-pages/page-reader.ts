import { parseLink } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { Egress, EgressResponse } from '@libs/platform';
import { bytesForText, countFetched, type Reserve } from '../../http/fetched-bytes';
import type { HtmlReader } from '../../parsers/html-reader';
import type { OutsideWork } from '../../parsers/outside-work';
import type { PdfReader, PdfText } from '../../parsers/pdf-reader';
import type { DomainRules } from '../web-domains';

export interface PageRequest {
  readonly domains: DomainRules;
  /** Longest content in characters. */
  readonly maxCharacters: number;
  /** To whom the slots and the memory of the download are charged. */
  readonly work: OutsideWork;
}

export interface Page {
  /** The URL of the page after redirects. */
  readonly url: string;
  readonly httpStatus: number;
  readonly title: string | null;
  readonly content: string;
  readonly isCut: boolean;
}

type PageText = Pick<PdfText, 'title' | 'text' | 'isCut'>;

const LARGEST_PAGE = 16 * 1024 * 1024;
/** Characters of a page that are read. */
const LONGEST_HTML = 1_000_000;
const TIMEOUT_MS = 20_000;
const MAX_REDIRECTS = 5;
/** Longest encoding of a character in any charset, in bytes. */
const MOST_BYTES = 4;
const CHARSET_IN_HTML = /<meta[^>]{1,200}charset\s*=\s*["']?([\w-]{1,40})/i;

/** Downloads web pages through the guarded connections and converts them to text. */
export class PageReader {
  constructor(
    private readonly egress: Egress,
    private readonly pdf: PdfReader,
    private readonly html: HtmlReader,
    /** The `User-Agent` that is sent to web servers. */
    private readonly userAgent: string,
  ) {}

  /**
   * Returns a page of any status.
   * @throws AppError for a refused URL, a host that cannot be reached, and content that is not text; the signal's
   * reason when it is aborted; provider_overloaded if there is no memory
   */
  async read(url: string, request: PageRequest): Promise<Page> {
    const read = async (reserve: Reserve): Promise<Omit<Page, 'content'> & { readonly text: string }> => {
      const response = await this.#fetch(url, request, reserve);
      return { url: response.url, httpStatus: response.status, ...(await this.#textOf(response, request)) };
    };
    const { text, ...page } = await countFetched(request.work.memory, read, (one) => bytesForText(one.text));
    const content = text.slice(0, request.maxCharacters);
    return { ...page, content, isCut: page.isCut || content.length < text.length };
  }

  #fetch(url: string, { domains, work: { memory, signal } }: PageRequest, reserve: Reserve): Promise<EgressResponse> {
    return this.egress.fetch(addressOf(url), {
      headers: {
        accept: 'text/html,application/xhtml+xml,application/pdf,text/plain,application/json;q=0.9,*/*;q=0.5',
        'user-agent': this.userAgent,
      },
      maxBytes: LARGEST_PAGE,
      timeoutMs: TIMEOUT_MS,
      maxRedirects: MAX_REDIRECTS,
      holder: memory.holder,
      signal,
      reserve,
      admit: (hop) => {
        if (domains.admits(hop)) return;
        throw new AppError('invalid_request', 'The URL is refused: its domain is not allowed');
      },
    });
  }

  async #textOf(response: EgressResponse, { maxCharacters, work }: PageRequest): Promise<PageText> {
    const { type, charset } = contentTypeOf(response);
    if (type === 'application/pdf') {
      const { title, text, isCut } = await this.pdf.read(response.body, work);
      return { title, text, isCut };
    }
    if (type === 'text/html' || type === 'application/xhtml+xml') {
      const declared = CHARSET_IN_HTML.exec(response.body.subarray(0, 1_024).toString('latin1'))?.[1];
      const html = decodeStart(response.body, charset ?? declared, LONGEST_HTML);
      return { ...(await this.html.read(html.text, response.url, work)), isCut: html.isCut };
    }
    if (isText(type)) return { title: null, ...decodeStart(response.body, charset, maxCharacters) };
    throw new AppError('invalid_request', 'The page cannot be read: its content is no text');
  }
}

/** Returns the address to fetch: over TLS for `http:` links without a port, and without the fragment. */
function addressOf(text: string): string {
  const url = parseLink(text.trim());
  if (url === null) return text;
  if (url.protocol === 'http:' && url.port === '') url.protocol = 'https:';
  url.hash = '';
  return url.href;
}

function contentTypeOf({ headers }: EgressResponse): { readonly type: string; readonly charset: string | undefined } {
  const [type = '', ...parameters] = (headers['content-type'] ?? 'text/plain').toLowerCase().split(';');
  const charset = /(?:^|[\s;])charset="?([\w-]{1,40})/.exec(parameters.join(';'))?.[1];
  return { type: type.trim(), charset };
}

/** Whether a media type is text in the end. */
export function isText(type: string): boolean {
  return /^text\/|[/+](json|xml|yaml|x-yaml|javascript|x-ndjson|csv|toml)$/.test(type);
}

interface Start {
  readonly text: string;
  readonly isCut: boolean;
}

/** Decodes the first `most` characters. A slice of a longer string would keep the whole string in memory. */
function decodeStart(bytes: Buffer, charset: string | undefined, most: number): Start {
  const start = bytes.subarray(0, most * MOST_BYTES);
  const isAll = start.length === bytes.length;
  // With `stream` an incomplete last character is left out.
  const text = decode(start, charset, { stream: !isAll });
  return { text: text.slice(0, most), isCut: !isAll || text.length > most };
}

function decode(bytes: Buffer, charset = 'utf-8', options: { readonly stream: boolean }): string {
  try {
    return new TextDecoder(charset).decode(bytes, options);
  } catch {
    // The charset is unknown; UTF-8 is the most common.
    return new TextDecoder().decode(bytes, options);
  }
}
