import { Injectable } from '@nestjs/common';
import { numberedId } from '@libs/contracts';
import { AppError, wireErrorType } from '@libs/errors';
import {
  attemptsBefore,
  CatalogueSource,
  formatUsd,
  InferenceEngine,
  managedLanePrices,
  readRoutePolicies,
  type CallableApi,
  type CancelSignal,
  type Candidate,
  type CredentialScope,
  type InferenceResult,
} from '@libs/inference';
import type { ClaimedSegment, LineError, LineOutcome } from '@libs/persistence';
import { BatchKeys } from './batch-keys';
import type { HeldLine } from './held-segment';

export type LineResult =
  | { readonly kind: 'outcome'; readonly outcome: LineOutcome }
  | {
      readonly kind: 'retry';
      readonly delayMs: number;
      /** The provider asked everybody to wait, not only this line. */
      readonly pausesProvider: boolean;
    };

const MAX_TRIES = 8;
const FIRST_BACKOFF_MS = 500;
const LAST_BACKOFF_MS = 30_000;
/** Until the auth app is asked again that did not answer. */
const ASK_AGAIN_MS = 1_000;
/** A provider that asks for more quiet than this is asked again anyway; the window is 24 hours, not for ever. */
const MAX_RETRY_AFTER_MS = 10 * 60_000;

const API_OF_ENDPOINT: Readonly<Record<string, CallableApi>> = {
  '/v1/chat/completions': 'chat',
  '/v1/responses': 'responses',
  '/v1/messages': 'messages',
  '/v1/embeddings': 'embeddings',
};

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
    const generationId = generationIdOf(line);
    const principal = await this.keys.principalOf(claim.apiKeyHash).catch((thrown: unknown) => AppError.from(thrown));
    if (principal instanceof AppError) return this.withoutKey(line, principal);
    try {
      const candidate = this.candidateOf(line);
      const result = await this.engine.callEndpoint(apiOf(claim.endpoint), candidate, {
        generationId,
        body: line.body,
        signal,
        priceList: managedLanePrices(candidate.endpoint.provider),
        scope: scopeOf(claim),
        policies: principal.policies && readRoutePolicies(principal.policies),
      });
      return { kind: 'outcome', outcome: success(line, generationId, result) };
    } catch (thrown) {
      return this.afterFailure(line, AppError.from(thrown));
    }
  }

  /** The outcome of a line that was never called again because its workers kept dying. */
  givenUp(line: HeldLine): LineOutcome {
    const error = new AppError('server', 'The request could not be processed');
    return failure(line, error);
  }

  /** A line whose key cannot be asked about waits, however long that takes: no call was tried for it. */
  private withoutKey(line: HeldLine, error: AppError): LineResult {
    if (error.code === 'authentication') return { kind: 'outcome', outcome: failure(line, error) };
    line.tries -= 1;
    return { kind: 'retry', delayMs: ASK_AGAIN_MS, pausesProvider: false };
  }

  private afterFailure(line: HeldLine, error: AppError): LineResult {
    if (!error.retryable || line.tries >= MAX_TRIES) return { kind: 'outcome', outcome: failure(line, error) };
    if (error.retryAfterSeconds !== undefined) {
      const delayMs = Math.min(MAX_RETRY_AFTER_MS, error.retryAfterSeconds * 1_000);
      return { kind: 'retry', delayMs, pausesProvider: error.code === 'rate_limit_exceeded' && !isOfOwnKey(error) };
    }
    const ceilingMs = Math.min(LAST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (line.tries - 1));
    return { kind: 'retry', delayMs: Math.ceil(Math.random() * ceilingMs), pausesProvider: false };
  }

  /** The endpoint the batch was accepted for, as the catalogue has it now. */
  private candidateOf({ segment: { claim } }: HeldLine): Candidate {
    const model = this.catalogue.current().findModel(claim.model);
    const endpoint = model?.endpoints.find(
      ({ provider, upstreamModel }) => provider.slug === claim.provider && upstreamModel === claim.upstreamModel,
    );
    if (model === null || endpoint === undefined) {
      throw new AppError('provider_unavailable', 'The provider of this batch is not available');
    }
    return { model, endpoint };
  }
}

function scopeOf({ organizationId, workspaceId, apiKeyHash }: ClaimedSegment): CredentialScope {
  return { organizationId, workspaceId, apiKeyHash };
}

/** What is wrong with a caller's own key is no reason to keep the provider from others. */
function isOfOwnKey(error: AppError): boolean {
  return attemptsBefore(error).at(-1)?.isByok === true;
}

/** The same for every try of a line, so that a repeated charge would meet its own key. */
function generationIdOf({ seq, segment: { claim } }: HeldLine): string {
  return numberedId('gen-batch', claim.batchId, seq);
}

function apiOf(endpoint: string): CallableApi {
  const api = API_OF_ENDPOINT[endpoint];
  if (api === undefined) throw new AppError('server', 'Internal error', { internal: `no lane for ${endpoint}` });
  return api;
}

function success(line: HeldLine, generationId: string, { status, body, usage, cost }: InferenceResult): LineOutcome {
  return {
    ...identityOf(line),
    generationId,
    statusCode: status,
    requestId: numberedId('req', line.segment.claim.batchId, line.seq),
    body,
    error: null,
    promptTokens: usage.promptTokens,
    completionTokens: usage.completionTokens,
    cachedTokens: usage.cachedTokens,
    cacheWriteTokens: usage.cacheWriteTokens,
    reasoningTokens: usage.reasoningTokens,
    promptCostUsd: formatUsd(cost.promptCost),
    completionCostUsd: formatUsd(cost.completionCost),
    costUsd: formatUsd(cost.totalCost),
  };
}

function failure(line: HeldLine, error: AppError): LineOutcome {
  return {
    ...identityOf(line),
    generationId: generationIdOf(line),
    statusCode: null,
    requestId: null,
    body: null,
    error: toLineError(error),
    promptTokens: 0,
    completionTokens: 0,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    promptCostUsd: '0',
    completionCostUsd: '0',
    costUsd: '0',
  };
}

function identityOf({ seq, customId, segment }: HeldLine): Pick<LineOutcome, 'lease' | 'seq' | 'customId'> {
  return { lease: segment.claim, seq, customId };
}

function toLineError(error: AppError): LineError {
  const param = error.metadata?.param;
  return {
    type: errorFamily(error.status),
    message: error.status === 500 ? 'Internal error' : error.message,
    param: typeof param === 'string' ? param : null,
    error_type: wireErrorType(error.code),
  };
}

function errorFamily(status: number): string {
  if (status === 429) return 'rate_limit_error';
  return status < 500 ? 'invalid_request_error' : 'server_error';
}
