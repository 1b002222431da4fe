import { findInBody, type FoundMember, type Holder } from './body-walk';
import {
  hasBlankHost,
  isUnreadableHost,
  LinkBudget,
  linkHeadOf,
  LONGEST_LINK,
  placeOf,
  withoutEdges,
  type LinkHead,
} from './link-head';
import { findHostProblem, withPlainHost } from './host-text';
import { findMediaLinkProblem, findPlaceProblem, findServerUrlProblem } from './media-links';

type Fields = Readonly<Record<string, unknown>>;

/** Fields whose text is for the model, a tool or a reader, so that a link in it is never opened. */
const TEXTS: ReadonlySet<string> = new Set([
  'role',
  'type',
  'content',
  'text',
  'model',
  'name',
  'id',
  'call_id',
  'tool_call_id',
  'tool_use_id',
  'input',
  'output',
  'system',
  'prompt',
  'revised_prompt',
  'instructions',
  'instruction',
  'developer',
  'thinking',
  'thought',
  'reasoning',
  'reasoning_content',
  'reasoning_text',
  'refusal',
  'summary',
  'signature',
  'encrypted_content',
  'encrypted_reasoning',
  'title',
  'document_title',
  'description',
  'server_description',
  'context',
  'cited_text',
  'quote',
  'transcript',
  'filename',
  'path',
  'diff',
  'patch',
  'code',
  'definition',
  'command',
  'commands',
  'env',
  'stdout',
  'stderr',
  'logs',
  'lines',
  'error',
  'message',
  'messages',
  'reason',
  'query',
  'queries',
  'pattern',
  'stop',
  'stop_sequences',
  'headers',
  'authorization',
  'user_id',
  'documents',
]);
/** Fields that contain a link, whatever their text looks like. */
const LINK_NAME = /(?:^|_)(?:ur[il]|UR[IL]|Ur[il])s?$|[a-z0-9]U(?:RL|RI|rl|ri)s?$/;
const LINKS: ReadonlySet<string> = new Set(['input_video', 'input_audio']);
/** Fields that contain bytes or an id; with a scheme in front the value is a link. */
const BYTES_OR_IDS: ReadonlySet<string> = new Set(['file_data', 'file_id']);
/** Base64 may begin with two slashes, as a link without a scheme does. */
const NOT_BASE64 = /[.:[\\]/;
/** Fields that mark a block with a citation of the caller's own material, by a label of any form. */
const CITED = /^search_result/;
/** Fields that contain such blocks. */
const CITING: ReadonlySet<string> = new Set(['content', 'citations']);

/** Schemes that are a link without an authority too. */
const OPENED: ReadonlySet<string> = new Set(['http', 'https', 'file', 'ftp']);
/** Further schemes that some programs open, unless words follow. Some of them wrap another link. */
const OPENED_BY_SOME: ReadonlySet<string> = new Set([
  'blob',
  'dbfs',
  'feed',
  'gopher',
  'jar',
  'jdbc',
  'netdoc',
  'unix',
  'url',
  'view-source',
]);
/**
 * Matches a link that takes its scheme from the page it is on, or from the program that opens it. Programs that read it
 * like browsers treat a backslash as a slash, drop tabs and line ends, and treat a number as an address.
 */
const WITHOUT_SCHEME = /^[/\\](?:[\t\n\r]*[/\\])+(?=[^\s/\\]*[.:[]|(?:localhost|\d+|0x[\da-f]+)(?:[/\\?#]|$))/i;
/** Schemes before a link through which some programs open it, such as FFmpeg's `cache:http://…`, with their options. */
const WRAPPING = /^(?:[a-z][a-z0-9+.,-]*:)+(?=(?:https?|file|ftp):)/i;
const NEXT_LINK = /\|(?=(?:https?|file|ftp):)/i;
const TOO_MANY = ' is beyond the number of links that one request may hold';

/**
 * Checks every link of a request body, in any field and API: it must lead to a public host or to cloud storage. A link
 * is the value of a field that holds links, or any other text that is entirely a URL, unless the text is for a model or
 * belongs to the caller's own functions. Data URLs are left to the dialects. A body with too many links to check
 * quickly is refused.
 */
export function findBodyLinkProblem(body: Fields): FoundMember | null {
  const budget = new LinkBudget();
  return findInBody(body, (name, value, holder) => judgeLink(name, value, holder, budget));
}

function judgeLink(name: string, value: unknown, holder: Holder, budget: LinkBudget): string | null {
  if (typeof value !== 'string' || isTextMember(name, holder)) return null;
  if (!isLinkMember(name) && !BYTES_OR_IDS.has(name)) {
    return findHostProblem(name, value) ?? findTextLinkProblem(value, budget);
  }
  const head = linkHeadOf(value);
  if (head === null) return isLinkMember(name) ? ' must be a URL' : findBytesProblem(name, value, budget);
  if (!budget.takes(head)) return TOO_MANY;
  return name === 'server_url' ? findServerUrlProblem(value) : findLinkProblem(value);
}

/** Checks bytes or an id that have no scheme. */
function findBytesProblem(name: string, value: string, budget: LinkBudget): string | null {
  if (!NOT_BASE64.test(value.slice(0, LONGEST_LINK))) return null;
  return findHostProblem(name, value) ?? findTextLinkProblem(value, budget);
}

/** Returns whether a field of this name holds a link that is opened. */
export function isLinkMember(name: string): boolean {
  return LINKS.has(name) || LINK_NAME.test(name);
}

/** Returns whether the text of a field is for a model, a tool or a reader, so that it is never a link. */
export function isTextMember(name: string, { fields: { type }, place }: Holder): boolean {
  if (TEXTS.has(name)) return true;
  if (name === 'data') return place === 'source' && type === 'text';
  return name === 'source' && CITING.has(place) && typeof type === 'string' && CITED.test(type);
}

function findLinkProblem(link: string): string | null {
  return /^data:/i.test(link) ? null : findMediaLinkProblem(link);
}

/** Checks the text of a field that is not known to hold links: the whole text may be a link. */
export function findTextLinkProblem(value: string, budget: LinkBudget): string | null {
  const link = withPlainHost(withoutEdges(value));
  // Only the beginning: expressions run out of stack on megabytes of slashes.
  const slashes = WITHOUT_SCHEME.exec(link.slice(0, LONGEST_LINK))?.[0];
  if (slashes !== undefined) return findTextLinkProblem(`https://${link.slice(slashes.length)}`, budget);
  const head = linkHeadOf(value);
  if (head === null || !isOpened(head, value)) return findWrappedLinkProblem(link, budget);
  if (!budget.takes(head)) return TOO_MANY;
  const place = placeOf(head);
  return isProse(value, head, place) ? null : findPlaceProblem(value, place);
}

/** Checks a link in another one, or the several that FFmpeg joins: `concat:https://…|https://…`. */
function findWrappedLinkProblem(text: string, budget: LinkBudget): string | null {
  const wrapping = WRAPPING.exec(text.slice(0, LONGEST_LINK))?.[0];
  if (wrapping === undefined || /^data:/i.test(wrapping)) return null;
  for (const link of text.slice(wrapping.length).split(NEXT_LINK)) {
    const problem = findTextLinkProblem(link, budget);
    if (problem !== null) return problem;
  }
  return null;
}

function isOpened({ hasAuthority, scheme }: LinkHead, value: string): boolean {
  if (scheme === 'data') return false;
  return hasAuthority || OPENED.has(scheme) || (OPENED_BY_SOME.has(scheme) && !/\s/.test(withoutEdges(value)));
}

/** Returns whether the text is a sentence that begins with a link, which is no link as a whole. */
function isProse(value: string, head: LinkHead, place: URL | null): boolean {
  if (place !== null || (isUnreadableHost(head) && !hasBlankHost(head))) return false;
  return /\s/.test(withoutEdges(value));
}
