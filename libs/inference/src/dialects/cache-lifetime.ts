import type { Endpoint } from '../catalogue/catalogue';
import { JsonCursor } from '../json/json-cursor';
import {
  applyEdits,
  findMember,
  memberEdits,
  scanMembers,
  scanMembersAt,
  type ByteEdit,
  type ScannedObject,
} from '../json/json-members';
import type { CanonicalRequest } from '../model/canonical-request';
import type { CacheMark, Part } from '../model/conversation';
import type { LossLog } from '../model/loss-report';
import type { ProviderAccount } from '../model/provider-account';
import { editsAt, type ListPath } from './own-members';
import { memberText } from './request-members';

const MARK = 'cache_control';
const LIFETIME = 'ttl';
const REPORTED = `${MARK}.${LIFETIME}`;
/** What providers take where a mark does not say. */
const SHORT = '5m';

/** Where a request of any API can be marked for the prompt cache, beside its top. */
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
 * Whether an endpoint is asked to keep a prompt in its cache for longer than five minutes. On the operator's account it
 * is not where the catalogue has a price for cache writes and none for those of an hour, which cost more.
 */
function mayKeepLong({ pricing }: Endpoint, { isOwn }: ProviderAccount): boolean {
  return isOwn || pricing.inputCacheWrite === undefined || pricing.inputCacheWrite1h !== undefined;
}

/** Returns a request in no dialect with marks whose lifetime the endpoint has a price for. */
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

/** Returns the same for a request in the caller's own words. */
export function withPricedMarkTexts(
  request: ScannedObject,
  endpoint: Endpoint,
  account: ProviderAccount,
  log?: LossLog,
): ScannedObject {
  if (mayKeepLong(endpoint, account) || !MARK_BYTES.some((bytes) => request.bytes.includes(bytes))) return request;
  const inLists = MARKED_LISTS.flatMap((path) => editsAt(request, path, lifetimeEdits));
  const edits = [...lifetimeEdits(request), ...inLists].sort((one, other) => one.start - other.start);
  if (edits.length === 0) return request;
  log?.approximate(REPORTED);
  return scanMembers(applyEdits(request.bytes, edits));
}

function lifetimeEdits(owner: ScannedObject): readonly ByteEdit[] {
  const member = findMember(owner, MARK);
  const cursor = member && new JsonCursor(owner.bytes, member.valueStart);
  if (!cursor?.isObject()) return [];
  const mark = scanMembersAt(cursor);
  const lifetime = memberText(mark, LIFETIME)?.toString() ?? 'null';
  return lifetime === 'null' || lifetime === `"${SHORT}"` ? [] : memberEdits(mark, { remove: [LIFETIME] });
}
