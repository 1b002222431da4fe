import { upstreamCacheKey, type ProviderAccount } from '../model/provider-account';
import type { ScannedObject } from '../json/json-members';
import { memberText } from './request-members';

/** Members of any API that make a provider keep an answer in the account that calls, or take up one kept there. */
const KEPT: readonly string[] = ['store', 'deferred', 'background', 'previous_response_id', 'conversation'];
/** Members that make it keep a prompt for longer. */
const KEPT_LONGER: readonly string[] = ['prompt_cache_retention'];

/**
 * Returns the members of a request of any API that would make the upstream keep something and that it is not sent: kept
 * answers unless the caller's own key is used, long cache retention where nothing may be kept.
 */
export function retainedMembers(request: ScannedObject, { isOwn, keepsNothing }: ProviderAccount): readonly string[] {
  const names = [...(!isOwn || keepsNothing ? KEPT : NONE), ...(keepsNothing ? KEPT_LONGER : NONE)];
  return names.length === 0 ? NONE : names.filter((name) => isGiven(request, name));
}

/** The same for an API that keeps answers under the metadata of the request, and refuses metadata that keep nothing. */
export function retainedWithMetadata(request: ScannedObject, account: ProviderAccount): readonly string[] {
  const removed = retainedMembers(request, account);
  return removed.includes('store') ? [...removed, 'metadata'] : removed;
}

const NONE: readonly string[] = [];

/** Adds the upstream's `prompt_cache_key` to `set` if it differs from the caller's. */
export function setCacheKey(
  request: ScannedObject,
  set: Record<string, string | Buffer>,
  account: ProviderAccount,
): void {
  const text = memberText(request, 'prompt_cache_key');
  if (account.isOwn || text?.[0] !== QUOTE) return;
  set['prompt_cache_key'] = JSON.stringify(upstreamCacheKey(JSON.parse(text.toString()) as string, account));
}

const QUOTE = 0x22;

function isGiven(request: ScannedObject, name: string): boolean {
  const text = memberText(request, name)?.toString();
  return text !== undefined && text !== 'null' && text !== 'false';
}
