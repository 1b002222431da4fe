import type { ScannedObject } from '@libs/json';
import type { Endpoint } from '../catalogue/catalogue';
import type { CanonicalRequest } from '../model/canonical-request';
import type { LossLog } from '../model/loss-report';
import { outputLimitOf } from '../model/output-limit';
import { memberText } from './request-members';

/**
 * Lowers the caps of a request to the most that the endpoint can output. Coding agents ask every model for the same
 * 32,000 tokens, and providers refuse caps above their limit. Logs the change as an approximation.
 * @param names of the fields that cap an answer in this API
 * @param set JSON texts by field name; a lowered cap is added
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

/**
 * Lowers the cap of a canonical request. `member` returns the name of the caller's cap; it is called only if that is
 * lowered.
 */
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
