import { Injectable } from '@nestjs/common';
import type { Principal } from '@libs/contracts';
import { AppError, type ErrorCode } from '@libs/errors';
import { failpoint } from '@libs/failpoints';
import {
  attemptsBefore,
  CatalogueSource,
  InferenceEngine,
  managedLanePrices,
  readRoutePolicies,
  type CancelSignal,
  type CredentialScope,
} from '@libs/inference';
import type { ClaimedSegment, LineOutcome } from '@libs/persistence';
import { apiOf, candidateOf } from './batch-candidate';
import { BatchKeys } from './batch-keys';
import type { HeldLine } from './held-segment';
import { answered, generationIdOf, refused, type LinePlace } from './line-outcome';
import type { CallEnd } from './quota-windows';

export type LineResult =
  | { readonly kind: 'outcome'; readonly outcome: LineOutcome }
  | {
      readonly kind: 'retry';
      readonly delayMs: number;
      /** The provider asked everybody on this quota to wait, not only this line. */
      readonly pausesQuota: boolean;
      /** It was too much for the quota, of whichever of its lines. */
      readonly isCongestion: boolean;
    };

const MAX_TRIES = 8;
/**
 * A provider that takes few calls at once refuses most lines more often than that, and answers them in the end. So
 * for its refusals a line is not given up sooner.
 */
const LEAST_PATIENCE_MS = 30 * 60_000;
const FIRST_BACKOFF_MS = 500;
const LAST_BACKOFF_MS = 30_000;
/** Until the auth app is asked again that did not answer. */
const ASK_AGAIN_MS = 1_000;
/** A provider that asks for more quiet than this is asked again anyway; the window is 24 hours, not for ever. */
const MAX_RETRY_AFTER_MS = 10 * 60_000;

/** What says that we ask for too much at once; an overload may be anybody's doing, and is waited for. */
const CONGESTION: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['rate_limit_exceeded', 'timeout']);

/** One call of one line: what it came to, or when to try again. Never throws. */
@Injectable()
export class LineRunnerService {
  constructor(
    private readonly engine: InferenceEngine,
    private readonly catalogue: CatalogueSource,
    private readonly keys: BatchKeys,
  ) {}

  async run(line: HeldLine, signal: CancelSignal): Promise<LineResult> {
    const { claim } = line.segment;
    let principal: Principal;
    try {
      const found = this.keys.principalOf(claim);
      principal = found instanceof Promise ? await found : found;
    } catch (thrown) {
      return this.withoutKey(line, AppError.from(thrown));
    }
    const place = placeOf(line);
    failpoint('line-leased');
    try {
      const candidate = candidateOf(claim, this.catalogue.current());
      const result = await this.engine.callEndpoint(apiOf(claim.endpoint), candidate, {
        generationId: generationIdOf(place),
        body: line.body,
        signal,
        priceList: managedLanePrices(candidate.endpoint.provider),
        scope: scopeOf(claim),
        policies: principal.policies && readRoutePolicies(principal.policies),
      });
      failpoint('line-answered');
      return { kind: 'outcome', outcome: answered(place, result) };
    } catch (thrown) {
      return this.afterFailure(line, AppError.from(thrown));
    }
  }

  /** The outcome of a line that was never called again because its workers kept dying. */
  givenUp(line: HeldLine): LineOutcome {
    const error = new AppError('server', 'The request could not be processed');
    return refused(placeOf(line), error);
  }

  /** A line whose key cannot be asked about waits, however long that takes: no call was tried for it. */
  private withoutKey(line: HeldLine, error: AppError): LineResult {
    if (error.code === 'authentication') return { kind: 'outcome', outcome: refused(placeOf(line), error) };
    line.tries -= 1;
    return { kind: 'retry', delayMs: ASK_AGAIN_MS, pausesQuota: false, isCongestion: false };
  }

  private afterFailure(line: HeldLine, error: AppError): LineResult {
    if (isGivenUp(line, error)) return { kind: 'outcome', outcome: refused(placeOf(line), error) };
    const isCongestion = CONGESTION.has(error.code) && isOfQuota(line, error);
    if (error.retryAfterSeconds !== undefined) {
      const delayMs = Math.min(MAX_RETRY_AFTER_MS, error.retryAfterSeconds * 1_000);
      const pausesQuota = error.code === 'rate_limit_exceeded' && isCongestion;
      // A pause answers it already; fewer calls at once as well would make each refusal cost a pause of its own.
      return { kind: 'retry', delayMs, pausesQuota, isCongestion: isCongestion && !pausesQuota };
    }
    const ceilingMs = Math.min(LAST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (line.tries - 1));
    return { kind: 'retry', delayMs: Math.ceil(Math.random() * ceilingMs), pausesQuota: false, isCongestion };
  }
}

/** What it says of how much its provider can take. */
export function callEndOf(result: LineResult): CallEnd {
  if (result.kind === 'outcome') return result.outcome.error === null ? 'answered' : 'other';
  return result.isCongestion ? 'congested' : 'other';
}

function scopeOf({ organizationId, workspaceId, apiKeyHash }: ClaimedSegment): CredentialScope {
  return { organizationId, workspaceId, apiKeyHash };
}

function isGivenUp({ tries, firstTryMs }: HeldLine, error: AppError): boolean {
  // A key of the caller's own that is refused may be mended while the batch is open.
  if (!error.retryable && error.code !== 'authentication') return true;
  const isFull = error.code === 'rate_limit_exceeded';
  const waitedMs = firstTryMs === null ? 0 : performance.now() - firstTryMs;
  return tries >= MAX_TRIES && (!isFull || waitedMs >= LEAST_PATIENCE_MS);
}

/**
 * Whether an error says something of the quota of its line. One that a caller's own key ran into does not where the
 * line counts for the operator's: the key is a fallback, or was added later.
 */
function isOfQuota({ segment: { claim } }: HeldLine, error: AppError): boolean {
  return claim.isOwnKey || attemptsBefore(error).at(-1)?.isByok !== true;
}

function placeOf({ seq, customId, segment: { claim } }: HeldLine): LinePlace {
  return { lease: claim, batchId: claim.batchId, seq, customId };
}
