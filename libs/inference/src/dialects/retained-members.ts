import { upstreamCacheKey, type ProviderAccount } from '../model/provider-account';
import type { ScannedObject } from './json-members';
import { memberText } from './request-members';

/** Stored completions are kept in the account that calls, under the metadata. Metadata alone would be refused. */
const STORED: readonly string[] = ['store', 'metadata'];

/**
 * Returns the members of a chat or responses request that would make the upstream keep something and that it is not
 * sent: stored completions unless the caller's own key is used, long cache retention where nothing may be kept.
 */
export function retainedMembers(request: ScannedObject, { isOwn, keepsNothing }: ProviderAccount): readonly string[] {
  const removed: string[] = [];
  if ((!isOwn || keepsNothing) && isGiven(request, 'store')) removed.push(...STORED);
  if (keepsNothing && isGiven(request, 'prompt_cache_retention')) removed.push('prompt_cache_retention');
  return removed;
}

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
