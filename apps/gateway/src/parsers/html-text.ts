import { Parser } from 'htmlparser2';

export interface HtmlText {
  readonly title: string | null;
  /** Markdown-like text: headings as `#`, list entries as `-`, links as `[text](address)`, cells between bars. */
  readonly text: string;
}

/** Elements whose content is not for readers. */
const HIDDEN = new Set(['script', 'style', 'noscript', 'template', 'svg', 'math', 'iframe', 'object', 'select']);
const BLOCKS = new Set(
  (
    'address article aside blockquote dd details div dl dt fieldset figcaption figure footer form header hr main nav ' +
    'ol p pre section summary table ul'
  ).split(' '),
);
const LINES = new Set(['br', 'tr', 'caption']);
const LONGEST_TITLE = 500;
/**
 * Deepest nesting. The parser's work grows with the square of the depth; real pages have a depth of a hundred at most.
 */
const DEEPEST = 1_000;
/** Small enough that the depth cannot grow much before it is checked. */
const CHUNK_CHARACTERS = 4_096;

export interface HtmlSettings {
  /** Base URL of relative links. */
  readonly base: string;
}

/**
 * Returns the text of a page for a model to read. A page that is nested beyond reason is read up to there. Runs in a
 * child (`parser-child.ts`).
 */
export function parse(payload: Uint8Array, { base }: HtmlSettings): HtmlText {
  const html = new TextDecoder('utf-8', { ignoreBOM: true }).decode(payload);
  const writer = new TextWriter(base);
  const parser = new Parser(writer, { decodeEntities: true, lowerCaseTags: true, lowerCaseAttributeNames: true });
  for (let at = 0; at < html.length && writer.depth < DEEPEST; at += CHUNK_CHARACTERS) {
    parser.write(html.slice(at, at + CHUNK_CHARACTERS));
  }
  parser.end();
  return writer.result();
}

class TextWriter {
  /** Elements that are open. */
  depth = 0;
  readonly #pieces: string[] = [];
  #title: string | null = null;
  #isTitle = false;
  /** Open elements whose text is not shown. */
  #hidden = 0;
  #preformatted = 0;
  /** The open links: a URL, or null for a link without a valid target. */
  readonly #links: (string | null)[] = [];
  #base: string;

  /** Node only strips the types in the child and does not compile, so parameter properties cannot be used. */
  constructor(base: string) {
    this.#base = base;
  }

  onopentag(name: string, attributes: Record<string, string>): void {
    this.depth += 1;
    if (name === 'title' && this.#title === null && this.#hidden === 0) this.#isTitle = true;
    if (name === 'base') this.#rebase(attributes['href']);
    if (HIDDEN.has(name)) this.#hidden += 1;
    if (this.#hidden > 0) return;
    if (name === 'pre') this.#preformatted += 1;
    if (name === 'a') this.#openLink(attributes['href']);
    else this.#write(openingOf(name));
  }

  ontext(text: string): void {
    if (this.#isTitle) this.#title = (this.#title ?? '') + text;
    else if (this.#hidden === 0) this.#write(this.#preformatted > 0 ? text : text.replace(/\s+/g, ' '));
  }

  onclosetag(name: string): void {
    this.depth -= 1;
    if (name === 'title') this.#isTitle = false;
    if (HIDDEN.has(name)) {
      this.#hidden = Math.max(0, this.#hidden - 1);
      return;
    }
    if (this.#hidden > 0) return;
    if (name === 'pre') this.#preformatted = Math.max(0, this.#preformatted - 1);
    if (name === 'a') this.#closeLink();
    else this.#write(closingOf(name));
  }

  result(): HtmlText {
    const title = this.#title?.replace(/\s+/g, ' ').trim().slice(0, LONGEST_TITLE) ?? '';
    return { title: title === '' ? null : title, text: tidy(this.#pieces.join('')) };
  }

  #write(text: string): void {
    if (text !== '') this.#pieces.push(text);
  }

  #rebase(href: string | undefined): void {
    this.#base = (href === undefined ? null : URL.parse(href, this.#base))?.href ?? this.#base;
  }

  #openLink(href: string | undefined): void {
    const url = href === undefined || href.startsWith('#') ? null : URL.parse(href, this.#base);
    const isPage = url !== null && (url.protocol === 'https:' || url.protocol === 'http:');
    this.#links.push(isPage ? url.href : null);
    if (isPage) this.#write('[');
  }

  #closeLink(): void {
    const address = this.#links.pop() ?? null;
    if (address !== null) this.#write(`](${address})`);
  }
}

function openingOf(name: string): string {
  const level = /^h([1-6])$/.exec(name)?.[1];
  if (level !== undefined) return `\n\n${'#'.repeat(Number(level))} `;
  if (name === 'li') return '\n- ';
  if (name === 'td' || name === 'th') return ' | ';
  return LINES.has(name) ? '\n' : closingOf(name);
}

function closingOf(name: string): string {
  return BLOCKS.has(name) || /^h[1-6]$/.test(name) ? '\n\n' : '';
}

/**
 * Removes spaces at the ends of lines, and leaves at most one empty line between two others. Works line by line,
 * because the text may be one long run of spaces.
 */
function tidy(text: string): string {
  const lines = text
    .replace(/\u00a0/g, ' ')
    .replace(/\[\s*\]\([^()\s]*\)/g, '')
    .split('\n')
    .map((line) => (/^ \S/.test(line) ? line.trim() : line.trimEnd()));
  return lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}
