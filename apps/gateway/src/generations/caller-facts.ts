import { createHash } from 'node:crypto';
import { CALLER_APIS, type Api } from '@libs/inference';
import type { GenerationDetails } from '@libs/persistence';
import { storedTrace } from './caller-trace';
import { storedText } from './stored-text';

/** The fields of a request by which its caller names the session, the end user and the trace. */
export interface NamingBody {
  readonly session_id?: string | null;
  readonly user?: unknown;
  readonly safety_identifier?: unknown;
  readonly metadata?: { readonly user_id?: unknown } | null;
  readonly trace?: unknown;
}

/**
 * Returns the caller's own names for a call, for its record.
 * @param sessionId session that a header names, if the body names none
 */
export function callerFacts(
  api: Api,
  body: NamingBody,
  sessionId?: string | null,
): Pick<GenerationDetails, 'sessionId' | 'trace' | 'externalUser'> {
  return {
    sessionId: storedText(body.session_id || sessionId),
    trace: storedTrace(body.trace),
    externalUser: hashedUserOf(api, body),
  };
}

/**
 * Returns the hash of the end user's id. Only the caller, who can compute the same hash, knows the id; upstreams
 * receive only the hash.
 */
function hashedUserOf(api: Api, body: NamingBody): string | undefined {
  const named = CALLER_APIS[api].endUserOf({ ...body });
  if (typeof named !== 'string' || named === '') return undefined;
  return createHash('sha256').update(named).digest('hex');
}
