import { upstreamCacheKey, type ProviderAccount } from '../model/provider-account';
import type { ScannedObject } from '../json/json-members';
import { MemberNames } from '../model/member-names';
import type { Endpoint } from '../catalogue/catalogue';
import { memberText } from './request-members';
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
  let names: string[] | null = null;
  for (const { key } of request.members) {
    const isRetained = KEPT.has(key) || (keepsNothing && KEPT_LONGER.has(key));
    if (isRetained && isGiven(request, key)) (names ??= []).push(key);
  }
  return names ?? NONE;
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
  for (const { key } of request.members) {
    const text = CACHE_KEY.has(key) ? memberText(request, key) : undefined;
    if (text?.[0] !== QUOTE) continue;
    set[key] = JSON.stringify(upstreamCacheKey(JSON.parse(text.toString()) as string, account));
  }
}

const QUOTE = 0x22;

function isGiven(request: ScannedObject, name: string): boolean {
  const text = memberText(request, name)?.toString();
  return text !== undefined && text !== 'null' && text !== 'false';
}
