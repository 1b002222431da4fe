import type { Endpoint } from '../routing/catalogue';
import type { ScannedObject } from './json-members';
import { memberText } from './request-members';

/** Stored completions are kept in the account that calls, under the metadata. Metadata alone would be refused. */
const STORED: readonly string[] = ['store', 'metadata'];

/**
 * Returns the members of a chat or responses request that would make the upstream keep something and that it is not
 * sent: stored completions unless the caller's own key is used, long cache retention where the endpoint keeps nothing.
 */
export function retainedMembers(request: ScannedObject, endpoint: Endpoint, isOwnKey: boolean): readonly string[] {
  const removed: string[] = [];
  if ((!isOwnKey || endpoint.zdr) && isGiven(request, 'store')) removed.push(...STORED);
  if (endpoint.zdr && isGiven(request, 'prompt_cache_retention')) removed.push('prompt_cache_retention');
  return removed;
}

function isGiven(request: ScannedObject, name: string): boolean {
  const text = memberText(request, name)?.toString();
  return text !== undefined && text !== 'null' && text !== 'false';
}
