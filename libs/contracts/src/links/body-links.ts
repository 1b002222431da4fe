import { findInBody, type FoundMember } from './body-walk';
import { findMediaLinkProblem, findServerUrlProblem } from './media-links';

type Fields = Readonly<Record<string, unknown>>;

/** Members whose text is for the model, a tool or a reader, so that a link in it is no link that is opened. */
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
/** Members that hold a link, whatever their text looks like. */
const LINK_NAME = /(?:^|_)ur[il]s?$|[a-z0-9]U(?:RL|RI|rl|ri)s?$/;
const LINKS: ReadonlySet<string> = new Set(['input_video', 'input_audio']);
/** Members that hold bytes or an id: with a scheme in front it is a link. */
const BYTES_OR_IDS: ReadonlySet<string> = new Set(['file_data', 'file_id']);
/** Marks of a block that cites what the caller itself named, by a label of any form. */
const CITED = /^search_result/;

/** A scheme as parsers of URLs read it, with what they pass over, and whether an authority follows. */
const SCHEME = /^\s{0,64}([a-z][a-z0-9+.\-\t\n\r]{0,63}):([/\\][\t\n\r]*[/\\])?/i;
/** Schemes that are a link without an authority too. */
const OPENED: ReadonlySet<string> = new Set(['http', 'https', 'file', 'ftp']);

/**
 * Checks every link of a request body, in whatever member and API it stands: it must lead to a public host or to cloud
 * storage. A link is what stands where links stand, and any other text that is a URL as a whole, unless it is text for
 * a model or belongs to the caller's own functions. Data URLs are left to the dialects.
 */
export function findBodyLinkProblem(body: Fields): FoundMember | null {
  return findInBody(body, judgeLink);
}

function judgeLink(name: string, value: unknown, holder: Fields): string | null {
  if (typeof value !== 'string' || isTextMember(name, holder)) return null;
  if (name === 'server_url') return findServerUrlProblem(value);
  if (isLinkMember(name)) return findLinkProblem(value);
  return BYTES_OR_IDS.has(name) && schemeOf(value) !== null ? findLinkProblem(value) : findTextLinkProblem(value);
}

/** Whether a link is opened that stands in a member of this name. */
export function isLinkMember(name: string): boolean {
  return LINKS.has(name) || LINK_NAME.test(name);
}

/** Whether the text of a member is for a model, a tool or a reader, and no link whatever it looks like. */
export function isTextMember(name: string, { type }: Fields): boolean {
  if (TEXTS.has(name)) return true;
  if (name === 'data') return type === 'text';
  return name === 'source' && typeof type === 'string' && CITED.test(type);
}

function findLinkProblem(link: string): string | null {
  return /^data:/i.test(link) ? null : findMediaLinkProblem(link);
}

/** Checks a text of a member that is not known to hold links: it may be one as a whole. */
export function findTextLinkProblem(value: string): string | null {
  const scheme = schemeOf(value);
  if (scheme === null || scheme.name === 'data' || (!scheme.hasAuthority && !OPENED.has(scheme.name))) return null;
  return isProse(value) ? null : findMediaLinkProblem(value);
}

function schemeOf(value: string): { readonly name: string; readonly hasAuthority: boolean } | null {
  const [, name, authority] = SCHEME.exec(value) ?? [];
  if (name === undefined) return null;
  return { name: name.replace(/[\t\n\r]/g, '').toLowerCase(), hasAuthority: authority !== undefined };
}

/** A sentence may begin with a link, but it is none. */
function isProse(value: string): boolean {
  return !URL.canParse(value) && /\s/.test(value.trim());
}
