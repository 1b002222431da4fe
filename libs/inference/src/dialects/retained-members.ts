import { upstreamCacheKey, type ProviderAccount } from '../model/provider-account';
import type { JsonMember, ScannedObject } from '../json/json-members';
import { MemberNames } from '../model/member-names';
import type { Endpoint } from '../catalogue/catalogue';
import { mustRefuseStoring } from './stored-chats';

/**
 * Members of any API that make a provider keep an answer in the account that calls, or take up one kept there. In
 * `extra_body` may stand any of them, which some providers take as if they stood beside it.
 */
const KEPT = new MemberNames(['store', 'deferred', 'background', 'previous_response_id', 'conversation', 'extra_body']);
/** Members that make it keep a prompt for longer. */
const KEPT_LONGER = new MemberNames(['prompt_cache_retention', 'caching']);
const STORE = new MemberNames(['store']);
const CACHE_KEY = new MemberNames(['prompt_cache_key']);

/**
 * Returns the members of a request of any API that would make the upstream keep something and that it is not sent: kept
 * answers unless the caller's own key is used, long cache retention where nothing may be kept.
 */
export function retainedMembers(request: ScannedObject, { isOwn, keepsNothing }: ProviderAccount): readonly string[] {
  if (isOwn && !keepsNothing) return NONE;
  const retained = membersNamed(request, (key) => KEPT.has(key) || (keepsNothing && KEPT_LONGER.has(key)));
  return retained.filter((member) => isGiven(request, member)).map(({ key }) => key);
}

/** The members whose names fit; of doubled names the last, which counts. A name has many spellings. */
function membersNamed({ members }: ScannedObject, fits: (name: string) => boolean): readonly JsonMember[] {
  const named = members.filter(({ key }) => fits(key));
  return named.length < 2 ? named : [...new Map(named.map((member) => [member.key, member])).values()];
}

/** The same for an API that keeps answers under the metadata of the request, and refuses metadata that keep nothing. */
export function retainedWithMetadata(
  request: ScannedObject,
  endpoint: Endpoint,
  account: ProviderAccount,
): readonly string[] {
  const removed = retainedMembers(request, account);
  const isUnstored = mustRefuseStoring(endpoint, account) || removed.some((name) => STORE.has(name));
  return isUnstored ? [...removed, 'metadata'] : removed;
}

const NONE: readonly string[] = [];

/** Adds the upstream's `prompt_cache_key` to `set` if it differs from the caller's: the tenant is part of it. */
export function setCacheKey(
  request: ScannedObject,
  set: Record<string, string | Buffer>,
  account: ProviderAccount,
): void {
  if (account.isOwn) return;
  for (const { key, valueStart, valueEnd } of membersNamed(request, (name) => CACHE_KEY.has(name))) {
    if (request.bytes[valueStart] !== QUOTE) continue;
    const given = JSON.parse(request.bytes.toString('utf8', valueStart, valueEnd)) as string;
    set[key] = JSON.stringify(upstreamCacheKey(given, account));
  }
}

const QUOTE = 0x22;

function isGiven({ bytes }: ScannedObject, { valueStart, valueEnd }: JsonMember): boolean {
  if (valueEnd - valueStart > 'false'.length) return true;
  const text = bytes.toString('latin1', valueStart, valueEnd);
  return text !== 'null' && text !== 'false';
}
