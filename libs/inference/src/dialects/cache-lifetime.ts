import {
  JsonCursor,
  applyEdits,
  findMember,
  memberEdits,
  scanMembers,
  scanMembersAt,
  type ByteEdit,
  type JsonMember,
  type ScannedObject,
} from '@libs/json';
import type { Endpoint } from '../catalogue/catalogue';
import type { CanonicalRequest } from '../model/canonical-request';
import type { CacheMark, Part } from '../model/conversation';
import type { LossLog } from '../model/loss-report';
import { MemberNames } from '../model/member-names';
import type { ProviderAccount } from '../model/provider-account';
import { editsAt, type ListPath } from './own-members';
import { memberText } from './request-members';

const MARK = 'cache_control';
/** The cache mark of OpenAI's APIs, for which no lifetime is documented. */
const BREAKPOINT = 'prompt_cache_breakpoint';
const LIFETIME = 'ttl';
const REPORTED = `${MARK}.${LIFETIME}`;
/** The providers' default for a mark without a lifetime. */
const SHORT = '5m';
const MARKS = new MemberNames([MARK, BREAKPOINT]);
/** The field of each mark that says what kind of mark it is. */
const KIND_OF: Readonly<Record<string, string>> = { [MARK]: 'type', [BREAKPOINT]: 'mode' };
/** Lifetimes that are allowed even if the provider may keep nothing, as JSON texts. */
const SHORT_TEXTS: ReadonlySet<string> = new Set(['null', `"${SHORT}"`, '"1h"']);
/** A request without any of these bytes has no mark, in any of the usual spellings. */
const LASTING_BYTES = ['ache', 'ACHE', '\\u00'].map((text) => Buffer.from(text));
const NO_EDITS: readonly ByteEdit[] = [];

/** Lists whose objects may hold a cache mark, on any API, in addition to the request itself. */
const MARKED_LISTS: readonly ListPath[] = [
  ['system'],
  ['messages'],
  ['messages', 'content'],
  ['messages', 'content', 'content'],
  ['input'],
  ['input', 'content'],
  ['input', 'output'],
  ['tools'],
];
/** The name of a mark, and the escapes with which it can be written. */
const MARK_BYTES = [`"${MARK}"`, '\\u005', '\\u006', '\\u007'].map((text) => Buffer.from(text));

/**
 * Returns whether an endpoint may be asked to cache a prompt for longer than five minutes. On the operator's account it
 * may not, if the catalogue has a price for cache writes but none for one-hour writes, which cost more.
 */
function mayKeepLong({ pricing }: Endpoint, { isOwn }: ProviderAccount): boolean {
  return isOwn || pricing.inputCacheWrite === undefined || pricing.inputCacheWrite1h !== undefined;
}

/** Returns a canonical request whose cache marks have only lifetimes with a price at the endpoint. */
export function withPricedMarks(
  request: CanonicalRequest,
  endpoint: Endpoint,
  account: ProviderAccount,
  log: LossLog,
): CanonicalRequest {
  if (mayKeepLong(endpoint, account)) return request;
  const short = <Owner extends { readonly cache?: CacheMark }>(owner: Owner): Owner => {
    if ((owner.cache?.ttl ?? SHORT) === SHORT) return owner;
    log.approximate(REPORTED);
    return { ...owner, cache: {} };
  };
  const inPart = (part: Part): Part => {
    const asked = part.type === 'tool-result' ? { ...part, parts: part.parts.map((inner) => short(inner)) } : part;
    return 'cache' in asked ? short(asked) : asked;
  };
  const messages = request.messages.map((message) => ({ ...message, parts: message.parts.map(inPart) }));
  return { ...short(request), tools: request.tools.map((tool) => short(tool)), messages };
}

/**
 * Returns the caller's body with only cache lifetimes that have a price at the endpoint. If the provider may keep
 * nothing, longer lifetimes are removed too.
 */
export function withPricedMarkTexts(
  request: ScannedObject,
  endpoint: Endpoint,
  account: ProviderAccount,
  log?: LossLog,
): ScannedObject {
  const priced = withShortMarkTexts(request, endpoint, account, log);
  return account.keepsNothing ? withoutLastingMarks(priced) : priced;
}

function withShortMarkTexts(
  request: ScannedObject,
  endpoint: Endpoint,
  account: ProviderAccount,
  log?: LossLog,
): ScannedObject {
  if (mayKeepLong(endpoint, account) || !MARK_BYTES.some((bytes) => request.bytes.includes(bytes))) return request;
  const edits = markEdits(request, lifetimeEdits);
  if (edits.length === 0) return request;
  log?.approximate(REPORTED);
  return scanMembers(applyEdits(request.bytes, edits));
}

/** Returns the edits, in order, of the cache marks of a request and of everything in it that can carry one. */
function markEdits(request: ScannedObject, editsOf: (owner: ScannedObject) => readonly ByteEdit[]): ByteEdit[] {
  const inLists = MARKED_LISTS.flatMap((path) => editsAt(request, path, editsOf));
  return [...editsOf(request), ...inLists].sort((one, other) => one.start - other.start);
}

function withoutLastingMarks(request: ScannedObject): ScannedObject {
  if (!LASTING_BYTES.some((bytes) => request.bytes.includes(bytes))) return request;
  const edits = markEdits(request, lastingEdits);
  return edits.length === 0 ? request : scanMembers(applyEdits(request.bytes, edits));
}

/** Removes long lifetimes from marks. A mark that is not spelled as in the API is removed entirely. */
function lastingEdits(owner: ScannedObject): readonly ByteEdit[] {
  const marks = owner.members.filter(({ key }) => MARKS.has(key));
  if (marks.length === 0) return NO_EDITS;
  const isOwn = ({ key }: JsonMember): boolean => MARKS.find(key) === key;
  const remove = marks.filter((mark) => !isOwn(mark)).map(({ key }) => key);
  return [...memberEdits(owner, { remove }), ...marks.filter(isOwn).flatMap((mark) => editsInMark(owner, mark))];
}

function editsInMark({ bytes }: ScannedObject, { key: name, valueStart }: JsonMember): readonly ByteEdit[] {
  const cursor = new JsonCursor(bytes, valueStart);
  if (!cursor.isObject()) return NO_EDITS;
  const mark = scanMembersAt(cursor);
  const isShort = ({ key, valueStart: start, valueEnd: end }: JsonMember): boolean =>
    key === KIND_OF[name] || (name === MARK && key === LIFETIME && SHORT_TEXTS.has(bytes.toString('utf8', start, end)));
  return memberEdits(mark, { remove: mark.members.filter((member) => !isShort(member)).map(({ key }) => key) });
}

function lifetimeEdits(owner: ScannedObject): readonly ByteEdit[] {
  const member = findMember(owner, MARK);
  const cursor = member && new JsonCursor(owner.bytes, member.valueStart);
  if (!cursor?.isObject()) return [];
  const mark = scanMembersAt(cursor);
  const lifetime = memberText(mark, LIFETIME)?.toString() ?? 'null';
  return lifetime === 'null' || lifetime === `"${SHORT}"` ? [] : memberEdits(mark, { remove: [LIFETIME] });
}
