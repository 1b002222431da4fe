/** The beginning of a link, which determines where it leads: its scheme and its authority. */
export interface LinkHead {
  /** In lower case, without the colon. */
  readonly scheme: string;
  /** Slashes follow the scheme. */
  readonly hasAuthority: boolean;
  /** The name or address of the host as parsers read it; empty if there is none. */
  readonly host: string;
  /** Scheme and authority as they are written, and a slash. */
  readonly text: string;
}

/** Matches a scheme as URL parsers read it, including the characters that they skip. */
const SCHEME = /^[a-z][a-z0-9+.\-\t\n\r]*$/i;
const SLASHES = /[/\\][\t\n\r]*[/\\]/y;
/** After these schemes any number of slashes or backslashes may precede the authority, and a backslash ends it. */
const LOOSE: ReadonlySet<string> = new Set(['http', 'https', 'ftp', 'ws', 'wss']);
const LOOSE_AUTHORITY = /[/\\\t\n\r]*([^/\\?#]*)/y;
const STRICT_AUTHORITY = /[\t\n\r]*\/[\t\n\r]*\/([^/?#]*)/y;
const PORT = /:\d*$/;

/** Longer links are refused unread. */
export const LONGEST_LINK = 8_192;
/** Longest name in DNS; below, longest label. */
const LONGEST_NAME = 253;
const LONGEST_LABEL = 63;
/** Blanks that no parser accepts in a host. */
const BLANK = /[ \v\f]/;
// oxlint-disable-next-line no-control-regex -- it is the range of ASCII
const ASCII = /^[\u0000-\u007f]*$/;

/**
 * Reads where a text leads if it is a link, by a simple scan; null for a text without a scheme. The time of URL parsers
 * grows with the square of the length of a host, so the host is measured before a parser gets the text.
 */
export function linkHeadOf(written: string): LinkHead | null {
  const text = withoutEdges(written);
  const before = text.slice(0, text.indexOf(':') + 1);
  const spelled = before.slice(0, -1);
  if (!SCHEME.test(spelled)) return null;
  const scheme = spelled.replace(/[\t\n\r]/g, '').toLowerCase();
  const authority = matchAt(LOOSE.has(scheme) ? LOOSE_AUTHORITY : STRICT_AUTHORITY, text, before.length);
  const host = authority === null ? '' : authority[1]!.slice(authority[1]!.lastIndexOf('@') + 1);
  return {
    scheme,
    hasAuthority: matchAt(SLASHES, text, before.length) !== null,
    host: host.replace(PORT, ''),
    text: authority === null ? before : `${text.slice(0, before.length + authority[0].length)}/`,
  };
}

/** The text without blanks and control characters at its ends. */
export function withoutEdges(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && isEdge(text.charCodeAt(start))) start += 1;
  while (end > start && isEdge(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

const NEXT_LINE = 0x85;
const WIDE_BLANKS: ReadonlySet<number> = new Set([0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff]);

/**
 * Returns whether URL parsers strip a character from the ends of a text; they differ in how many. A text may have
 * megabytes of them.
 */
function isEdge(code: number): boolean {
  if (code < 0xa0) return code <= 0x20 || code === NEXT_LINE;
  return (code >= 0x2000 && code <= 0x200a) || WIDE_BLANKS.has(code);
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** Whether no parser takes the text for a link, because of a blank in its host. A file may have any name. */
export function hasBlankHost({ scheme, host }: LinkHead): boolean {
  return scheme !== 'file' && BLANK.test(host);
}

/**
 * Whether a host is too long for any name, or is written with percent signs, which parsers read differently. Characters
 * of other scripts become two or more in the name that is looked up.
 */
export function isUnreadableHost({ scheme, host, text }: LinkHead): boolean {
  if (text.length > LONGEST_LINK) return true;
  if (!LOOSE.has(scheme) && scheme !== 'file') return false;
  if (host.includes('%') || host.length > 2 * LONGEST_NAME || lengthOf(host) > LONGEST_NAME) return true;
  return (
    host.length > LONGEST_LABEL && host.split(/[.\u3002\uff0e\uff61]/).some((one) => lengthOf(one) > LONGEST_LABEL)
  );
}

/** Counts whole characters: a label of 59 characters with two code units each still fits. */
function lengthOf(text: string): number {
  let length = 0;
  for (const _character of text) length += 1;
  return length;
}

/** Parses the link up to its path, for its scheme, host and credentials. Null if no parser accepts it. */
export function placeOf(head: LinkHead): URL | null {
  // Its host does not matter, and would take as long to parse as any other.
  if (head.scheme === 'file') return new URL('file:///');
  return isUnreadableHost(head) ? null : URL.parse(head.text);
}

/** Parses the whole link; null if no parser accepts it. For links whose host was not measured. */
export function parseLink(link: string): URL | null {
  const head = linkHeadOf(link);
  return head === null || isUnreadableHost(head) ? null : URL.parse(link);
}

/** About the microseconds that all links of one body may take a parser. */
const MOST_WORK = 50_000;

/** The work that the links of one body may make. */
export class LinkBudget {
  #left = MOST_WORK;

  /** Takes the work of parsing a link; false when there was too much before it. */
  takes(head: LinkHead): boolean {
    this.#left -= isUnreadableHost(head) || ASCII.test(head.host) ? 1 : head.host.length;
    return this.#left >= 0;
  }
}
