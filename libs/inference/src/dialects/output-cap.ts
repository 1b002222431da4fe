import type { ScannedObject } from '@libs/json';
import type { Endpoint } from '../catalogue/catalogue';
import type { CanonicalRequest } from '../model/canonical-request';
import type { LossLog } from '../model/loss-report';
import { outputLimitOf } from '../model/output-limit';
import { memberText } from './request-members';

/**
 * Lowers the caps of a request to what the endpoint gives: coding agents ask every model for the same 32,000 tokens, and
 * providers refuse more than they give. Notes it as an approximation.
 *
 * @param names of the members that cap an answer in this API
 * @param set JSON texts by the names of members, to which a lower cap is added
 */
export function setCappedOutput(
  request: ScannedObject,
  set: Record<string, string | Buffer>,
  endpoint: Endpoint,
  { names, log }: { readonly names: readonly string[]; readonly log?: LossLog | undefined },
): void {
  const limit = outputLimitOf(endpoint);
  if (limit === null) return;
  for (const name of names) {
    const asked = Number(memberText(request, name)?.toString());
    if (!(asked > limit)) continue;
    set[name] = String(limit);
    log?.approximate(name);
  }
}

/** The same for a request in no dialect. `member` names the caller's own cap; it is only called where that is lowered. */
export function withCappedOutput(
  request: CanonicalRequest,
  endpoint: Endpoint,
  log: LossLog,
  member: () => string,
): CanonicalRequest {
  const { maxOutputTokens } = request;
  const limit = outputLimitOf(endpoint);
  if (maxOutputTokens === undefined || limit === null || maxOutputTokens <= limit) return request;
  log.approximate(member());
  return { ...request, maxOutputTokens: limit };
}
