import type { Endpoint } from '../../catalogue/catalogue';
import { JsonCursor } from '../../json/json-cursor';
import type { ScannedObject } from '../../json/json-members';
import { memberText } from '../request-members';
import { takes } from './traits';

/**
 * Writes the cap of a chat request that the API means, `max_completion_tokens`, into the one member that the endpoint
 * takes. Providers differ in which of two caps they follow. A request that names `max_tokens` alone stays as it is.
 *
 * @param set JSON texts by the names of members, to which the cap is added
 * @returns the names of members that the upstream is not sent
 */
export function setTokenCap(
  request: ScannedObject,
  endpoint: Endpoint,
  set: Record<string, string | Buffer>,
): readonly string[] {
  const cap = memberText(request, 'max_completion_tokens');
  if (cap === undefined || new JsonCursor(cap).isNull()) return [];
  if (!takes(endpoint, 'max_tokens')) return ['max_tokens'];
  set['max_tokens'] = cap;
  return ['max_completion_tokens'];
}
