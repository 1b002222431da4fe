import { spliceMembers } from '@libs/json';
import type { Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { InferenceRequest } from './inference-call';
import { betaHeaderOf } from '../providers/anthropic-betas';
import type { UpstreamCall, UpstreamTimeouts } from '../wire/upstream-call';
import type { Endpoint } from '../catalogue/catalogue';
import type { CredentialScope, CredentialSource } from '../routing/credential-source';
import { KeyOutcomes } from '../routing/key-outcomes';
import { accessWith } from '../routing/own-key-access';
import { isPlaceAllowed } from '../routing/route-policy';
import type { Candidate } from '../routing/route-plan';

export const DEFAULT_TIMEOUTS: UpstreamTimeouts = { headersMs: 300_000, idleMs: 60_000, totalMs: 600_000 };

/** A request as one attempt makes it. */
export interface TimedRequest extends InferenceRequest {
  readonly deadlineMs: number;
  /** When the attempt began, in milliseconds since the epoch. If prices depend on the hour, this one counts. */
  readonly beganMs: number;
  /** True if another model is tried after this one, so that a refusal is not yet the final answer. */
  readonly hasOtherModel: boolean;
}

/** Returns the request of an attempt that begins now. */
export function timedNow(request: InferenceRequest, deadlineMs: number, hasOtherModel: boolean): TimedRequest {
  return { ...request, deadlineMs, beganMs: Date.now(), hasOtherModel };
}

export interface UpstreamCallParts {
  readonly credentials: CredentialSource;
  /** Clock for durations, in milliseconds; see `monotonicMs`. */
  readonly clock: () => number;
  /** Timeouts of calls that set none of their own. */
  readonly timeouts?: UpstreamTimeouts;
}

/** Builds the adapter's input for a call from a candidate of the plan. */
export class UpstreamCalls {
  readonly keys: KeyOutcomes;

  constructor(private readonly parts: UpstreamCallParts) {
    this.keys = new KeyOutcomes(parts.credentials);
  }

  /**
   * Returns the endpoint, the key and the timeouts of one call. The key is the caller's own if the plan says so, else
   * the shared one, or none if the provider needs none. Returns a promise only if the key must be loaded; most calls
   * have it in memory.
   */
  callOf(candidate: Candidate, request: TimedRequest, body: Buffer): UpstreamCall | Promise<UpstreamCall> {
    const { endpoint, credential } = candidate;
    const { credentials } = this.parts;
    const { scope = {} } = request;
    const key = credential
      ? credentials.forOwnCredential(credential, scope)
      : credentials.forProvider(endpoint.provider, scope);
    if (key instanceof Promise) return key.then((found) => this.callWith(found, candidate, request, body));
    return this.callWith(key, candidate, request, body);
  }

  private callWith(key: Secret | null, candidate: Candidate, request: TimedRequest, body: Buffer): UpstreamCall {
    const access = candidate.credential
      ? key && accessWith(key, candidate)
      : { apiKey: key, endpoint: candidate.endpoint };
    const isMissing = access === null || (access.apiKey === null && access.endpoint.provider.apiKeyEnv !== null);
    if (isMissing) throw unusable(candidate.endpoint, 'there is no key');
    if (!isPlaceAllowed(candidate, access.endpoint, request.policies)) {
      throw unusable(candidate.endpoint, 'the own key leads to a region that a policy forbids');
    }
    this.keys.calledWith(candidate, key);
    const { timeouts = DEFAULT_TIMEOUTS, clock } = this.parts;
    const { headersMs, idleMs, totalMs } = request.timeouts ? { ...timeouts, ...request.timeouts } : timeouts;
    const leftMs = Math.max(1, Math.min(totalMs, request.deadlineMs - clock()));
    const { apiKey, endpoint } = access;
    const sent = forDeployment(body, candidate.endpoint, endpoint);
    const call = {
      endpoint,
      apiKey,
      body: sent,
      signal: request.signal,
      timeouts: { headersMs, idleMs, totalMs: leftMs },
      holders: holdersOf(request.scope),
    };
    const isOwnKey = Boolean(candidate.credential);
    return request.betas === undefined
      ? call
      : { ...call, headers: betaHeaderOf(request.betas, { endpoint, isOwnKey }) };
  }
}

function holdersOf({ workspaceId = '', organizationId = '' }: CredentialScope = {}): readonly string[] {
  return [workspaceId, organizationId];
}

/** Replaces the model's name in a body by that of the caller's own deployment. */
function forDeployment(body: Buffer, { upstreamModel }: Endpoint, own: Endpoint): Buffer {
  if (own.upstreamModel === upstreamModel || body.length === 0) return body;
  return spliceMembers(body, { set: { model: JSON.stringify(own.upstreamModel) } });
}

export function unusable({ provider }: Endpoint, reason: string): AppError {
  return new AppError('provider_unavailable', 'The provider is not available', {
    metadata: { provider_name: provider.name },
    internal: `${provider.slug}: ${reason}`,
  });
}
