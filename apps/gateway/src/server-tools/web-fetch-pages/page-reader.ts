import { AppError } from '@libs/errors';
import type { Egress, EgressResponse } from '@libs/platform';
import type { HtmlReader } from '../../parsers/html-reader';
import type { PdfReader, PdfText } from '../../parsers/pdf-reader';
import type { DomainRules } from '../web-domains';

export interface PageRequest {
  readonly domains: DomainRules;
  /** Of the content, in characters. */
  readonly maxCharacters: number;
  readonly signal: AbortSignal;
}

export interface Page {
  /** Where it was found in the end. */
  readonly url: string;
  readonly httpStatus: number;
  readonly title: string | null;
  readonly content: string;
  readonly isCut: boolean;
}

const LARGEST_PAGE = 16 * 1024 * 1024;
/** Longer pages are read as far as this. */
const LONGEST_HTML = 1_000_000;
const TIMEOUT_MS = 20_000;
const MAX_REDIRECTS = 5;
const CHARSET_IN_HTML = /<meta[^>]{1,200}charset\s*=\s*["']?([\w-]{1,40})/i;

/** Fetches pages of the web through the egress door and turns them into text. */
export class PageReader {
  constructor(
    private readonly egress: Egress,
    private readonly pdf: PdfReader,
    private readonly html: HtmlReader,
    /** How we call ourselves to web servers. */
    private readonly userAgent: string,
  ) {}

  /**
   * A page of any status.
   *
   * @throws AppError for a URL that is refused, a host that cannot be reached, and content that is no text; the
   * signal's reason when it is aborted
   */
  async read(url: string, { domains, maxCharacters, signal }: PageRequest): Promise<Page> {
    const response = await this.egress.fetch(addressOf(url), {
      headers: {
        accept: 'text/html,application/xhtml+xml,application/pdf,text/plain,application/json;q=0.9,*/*;q=0.5',
        'user-agent': this.userAgent,
      },
      maxBytes: LARGEST_PAGE,
      timeoutMs: TIMEOUT_MS,
      maxRedirects: MAX_REDIRECTS,
      signal,
      admit: (hop) => {
        if (domains.admits(hop)) return;
        throw new AppError('invalid_request', 'The URL is refused: its domain is not allowed');
      },
    });
    const { title, text, isCut: isReadInPart } = await this.#textOf(response, signal);
    const content = text.slice(0, maxCharacters);
    const isCut = isReadInPart || content.length < text.length;
    return { url: response.url, httpStatus: response.status, title, content, isCut };
  }

  async #textOf(response: EgressResponse, signal: AbortSignal): Promise<Omit<PdfText, 'pages'>> {
    const { type, charset } = contentTypeOf(response);
    if (type === 'application/pdf') return await this.pdf.read(response.body, signal);
    if (type === 'text/html' || type === 'application/xhtml+xml') {
      const declared = CHARSET_IN_HTML.exec(response.body.subarray(0, 1_024).toString('latin1'))?.[1];
      const html = decode(response.body, charset ?? declared);
      const read = await this.html.read(html.slice(0, LONGEST_HTML), response.url, signal);
      return { ...read, isCut: html.length > LONGEST_HTML };
    }
    if (isText(type)) return { title: null, text: decode(response.body, charset), isCut: false };
    throw new AppError('invalid_request', 'The page cannot be read: its content is no text');
  }
}

/** Links of old are asked for over TLS, and a part of a page is the page. */
function addressOf(text: string): string {
  const url = URL.parse(text.trim());
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

function decode(bytes: Buffer, charset = 'utf-8'): string {
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    // A name that nobody knows: what is most common is the best guess.
    return new TextDecoder().decode(bytes);
  }
}
