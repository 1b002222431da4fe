import { Injectable } from '@nestjs/common';
import type { Principal } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { failpoint } from '@libs/failpoints';
import {
  CatalogueSource,
  APIS,
  InferenceEngine,
  isOfOwnKey,
  leftCallOf,
  managedLanePrices,
  readRoutePolicies,
  upstreamStatusOf,
  type CancelSignal,
  type Candidate,
  type CredentialScope,
  type ExpectedOutput,
  type InferenceRequest,
  type LeftCall,
  type UpstreamApi,
  type UpstreamTimeouts,
} from '@libs/inference';
import type { ClaimedSegment, LineOutcome } from '@libs/persistence';
import { ServicesEnv } from '@libs/platform';
import { apiOf, candidateOf } from './batch-candidate';
import { BatchKeys } from './batch-keys';
import type { HeldLine } from './held-segment';
import { answered, calledOff, charged, generationIdOf, refused, type LinePlace } from './line-outcome';
import type { CallNews } from './lane-quotas';
import { failureOf, unasked, type LineFailure } from './line-patience';
import { withReportedLosses } from './reported-losses';

/** Time limits of a call that differ from the usual ones. */
export type CallLimits = Pick<UpstreamTimeouts, 'headersMs' | 'totalMs'>;

/** Limits of a call that all other lines wait for. */
export const ALONE_LIMITS: CallLimits = { headersMs: 60_000, totalMs: 60_000 };

type CallBounds = Pick<InferenceRequest, 'signal' | 'timeouts'>;

export type LineResult =
  | { readonly kind: 'outcome'; readonly outcome: LineOutcome; readonly news: CallNews }
  /** A temporary failure. */
  | { readonly kind: 'failure'; readonly failure: LineFailure; readonly news: CallNews };

const ANSWERED: CallNews = { quota: 'worked', caller: 'worked', window: 'answered', pauseMs: null, isHeard: true };
export const SAYS_NOTHING: CallNews = {
  quota: 'none',
  caller: 'none',
  window: 'other',
  pauseMs: null,
  isHeard: false,
};
/** The provider was available, because it refused the line. */
const REFUSED_BY_PROVIDER: CallNews = {
  quota: 'worked',
  caller: 'worked',
  window: 'other',
  pauseMs: null,
  isHeard: true,
};

/** Makes one call for one line and returns its outcome or failure. Never throws. */
@Injectable()
export class LineRunnerService {
  constructor(
    private readonly engine: InferenceEngine,
    private readonly catalogue: CatalogueSource,
    private readonly keys: BatchKeys,
    private readonly env: ServicesEnv,
  ) {}

  async run(line: HeldLine, signal: CancelSignal, limits?: CallLimits): Promise<LineResult> {
    const { claim } = line.segment;
    let principal: Principal;
    try {
      const found = this.keys.principalOf(claim);
      principal = found instanceof Promise ? await found : found;
    } catch (thrown) {
      return withoutKey(line, AppError.from(thrown));
    }
    let candidate: Candidate;
    try {
      candidate = candidateOf(claim, this.catalogue.current());
    } catch (thrown) {
      return failed(unasked(AppError.from(thrown), 'quota'));
    }
    return this.call(line, candidate, principal, { signal, ...(limits && { timeouts: limits }) });
  }

  private async call(
    line: HeldLine,
    candidate: Candidate,
    { policies }: Principal,
    bounds: CallBounds,
  ): Promise<LineResult> {
    const { claim } = line.segment;
    const place = placeOf(line);
    const api = apiOf(claim.endpoint);
    failpoint('line-leased');
    try {
      const result = await this.engine.callEndpoint(api, candidate, {
        generationId: generationIdOf(place),
        body: line.body,
        expected: () => expectedOf(line),
        ...bounds,
        priceList: managedLanePrices(candidate.endpoint.provider),
        scope: scopeOf(claim),
        isForOwnKey: claim.isOwnKey,
        policies: policies && readRoutePolicies(policies),
      });
      failpoint('line-answered');
      const to = (): UpstreamApi => this.engine.upstreamApiOf(api, result.endpoint);
      const route = { requested: claim.model, from: api, to };
      const body = withReportedLosses(this.env.SERVICE_NAME, result, route);
      return { kind: 'outcome', outcome: answered(place, { ...result, body }), news: ANSWERED };
    } catch (thrown) {
      const error = AppError.from(thrown);
      const left = leftCallOf(error);
      if (left !== null) return unanswered(place, bounds, error, left);
      // A caller's own key, or its account, may be corrected while the batch is open.
      if (error.retryable || isOfOwnKey(error)) return failed(failureOf(line, error));
      return { kind: 'outcome', outcome: refused(place, error), news: newsOf(error) };
    }
  }

  /** Returns the outcome of a line that is not called again, because its last try failed. */
  ended(line: HeldLine, error: AppError): LineOutcome {
    return refused(placeOf(line), error);
  }

  /** Returns the outcome of a line that was given up because its workers died repeatedly. */
  givenUp(line: HeldLine): LineOutcome {
    return this.ended(line, new AppError('server', 'The request could not be processed'));
  }
}

export function isAnswer(result: LineResult): boolean {
  return result.kind === 'outcome' && result.outcome.error === null;
}

/** Returns the outcome of a call that has no answer but must be paid. */
function unanswered(place: LinePlace, bounds: CallBounds, error: AppError, left: LeftCall): LineResult {
  const outcome = bounds.signal.aborted ? calledOff(place, error, left) : charged(refused(place, error), left);
  return { kind: 'outcome', outcome, news: newsOf(error) };
}

function newsOf(error: AppError): CallNews {
  return upstreamStatusOf(error) === null ? SAYS_NOTHING : REFUSED_BY_PROVIDER;
}

/** Whether a result is stored although its batch was called off: it is an answer, or costs something. */
export function isKept(result: LineResult): boolean {
  return result.kind === 'outcome' && (result.outcome.error === null || Number(result.outcome.costUsd) > 0);
}

/** Returns what the body of a line says about the expected answer. */
function expectedOf({ body, segment: { claim } }: HeldLine): ExpectedOutput {
  const { outputOf, toolUsesOf } = APIS[apiOf(claim.endpoint)];
  const asked = JSON.parse(body.toString()) as Readonly<Record<string, unknown>>;
  return { ...outputOf(asked), toolUses: toolUsesOf(asked) };
}

/** A line whose key cannot be checked waits, however long that takes, because no call was made for it. */
function withoutKey(line: HeldLine, error: AppError): LineResult {
  if (error.code !== 'authentication') return failed(unasked(error, 'caller'));
  return { kind: 'outcome', outcome: refused(placeOf(line), error), news: SAYS_NOTHING };
}

function failed(failure: LineFailure): LineResult {
  return { kind: 'failure', failure, news: failure };
}

function scopeOf({ organizationId, workspaceId, apiKeyHash, isOwnKeysOnly }: ClaimedSegment): CredentialScope {
  return { organizationId, workspaceId, apiKeyHash, ...(isOwnKeysOnly === true && { isOwnKeysOnly }) };
}

function placeOf({ seq, customId, segment: { claim } }: HeldLine): LinePlace {
  return { lease: claim, batchId: claim.batchId, seq, customId };
}
