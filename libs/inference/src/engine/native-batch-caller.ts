import { AppError } from '@libs/errors';
import { dialectOf } from '../dialects';
import { APIS } from '../apis/apis';
import { TRANSLATIONS, type CallableApi, type UpstreamApi } from '../dialects/dialect-pairs';
import type { Answer, AnswerContext } from '../dialects/dialect';
import { cutAnswer, orCutShort } from '../dialects/cut-short';
import { parseRequest } from '../dialects/request-members';
import { translateAnswer } from '../dialects/translated-answer';
import type { Translation } from '../dialects/translation';
import type { Answered, CallerParts } from './endpoint-caller';
import { DEFAULT_TIMEOUTS } from './upstream-calls';
import type { CancelSignal } from '../model/cancellation';
import { leftChargeOf } from '../model/left-charge';
import { NO_LOSS, type LossReport } from '../model/loss-report';
import { SHARED_ACCOUNT } from '../model/provider-account';
import { noteLeftCall } from './left-call';
import { nativeBatchesFor, prefersNativeBatch } from './native-batch-choice';
import { writeLine } from './request-writer';
import { DEFAULT_BYOK_FEE } from '../pricing/byok-fee';
import type { BatchRules, NativeBatchAccess, NativeBatches } from '../providers/native-batch';
import type { Endpoint } from '../catalogue/catalogue';
import type { CredentialScope } from '../routing/credential-source';
import { KeyOutcomes } from '../routing/key-outcomes';
import { usableCandidates } from '../routing/keyed-candidates';
import { accessWith } from '../routing/own-key-access';
import type { Candidate } from '../routing/route-plan';
import { checkForSharedCapacity } from '../routing/shared-needs';

/** Time limit for the transfer of a batch file, which may be long. */
const TRANSFER_MS = 30 * 60_000;

/** Requests of one caller API at one endpoint, as lines of the provider's batches. */
export interface NativeLane {
  readonly batches: NativeBatches;
  /** The API in which the lines are written. */
  readonly upstreamApi: UpstreamApi;
  /** @throws AppError for a request that cannot be sent to this endpoint */
  write(customId: string, body: Buffer): Buffer;
  /**
   * Returns the answer of a line in the caller's dialect, charged at batch prices.
   * @throws AppError if it is not an answer; `leftCallOf` returns its charge if the work is paid nevertheless
   */
  read(line: { readonly body: Buffer } | { readonly error: AppError }, of: NativeRequest): Promise<Answered>;
}

/** The request that a line answers. */
export interface NativeRequest {
  readonly candidate: Candidate;
  readonly generationId: string;
  /** The caller's own. */
  readonly requestBody: Buffer;
}

/** Decides which requests may use a provider's own batch API and with which key, and translates them. */
export class NativeBatchCaller {
  readonly #parts: CallerParts;
  readonly #keys: KeyOutcomes;

  constructor(parts: CallerParts) {
    this.#parts = parts;
    this.#keys = new KeyOutcomes(parts.credentials);
  }

  /**
   * Returns whether to use the provider's own batch API: the catalogue prefers it, it is possible, and it costs less.
   */
  isPreferred(api: CallableApi, endpoint: Endpoint): boolean {
    return prefersNativeBatch(api, endpoint, this.#parts.adapters.get(endpoint.provider.protocol));
  }

  /** Returns the requirements of the endpoint's provider for requests in a batch. */
  rulesOf({ provider }: Endpoint): BatchRules {
    return this.#parts.adapters.get(provider.protocol)?.batchRules ?? {};
  }

  /** Returns how a provider runs such requests as batches; null if it has no batch API for them. */
  laneOf(api: CallableApi, endpoint: Endpoint, account = SHARED_ACCOUNT): NativeLane | null {
    const found = nativeBatchesFor(api, endpoint, this.#parts.adapters.get(endpoint.provider.protocol));
    if (found === null) return null;
    const { batches, upstreamApi } = found;
    const translation = this.#translationOf(api, upstreamApi, endpoint);
    const written = (body: Buffer) => writeLine(api, translation, body, { endpoint, account });
    return {
      batches,
      upstreamApi,
      write: (customId, body) => {
        if (!account.isOwn) checkForSharedCapacity(api, parseRequest(body), endpoint);
        return batches.line(customId, written(body).sent, upstreamApi);
      },
      read: async (line, of) => {
        const answer = await this.#read(api, translation, line, of);
        return { ...answer, losses: lossesOf(() => written(of.requestBody).losses) };
      },
    };
  }

  /**
   * Returns the endpoint with the first key that the caller's credentials allow; null if they allow none. A batch stays
   * with this key, because only the key's account can access the batch.
   */
  async withKey({ model, endpoint }: Candidate, scope: CredentialScope): Promise<Candidate | null> {
    const { credentials } = this.#parts;
    const isAvailable = await credentials.availableProviders(scope);
    const own = await credentials.ownCredentials(scope);
    return usableCandidates({ model, endpoint }, own, scope, isAvailable(endpoint.provider))[0] ?? null;
  }

  /**
   * Returns the endpoint with the key that was chosen before (null: the operator's own); null if that key was deleted.
   */
  async withSameKey(
    { model, endpoint }: Candidate,
    credentialId: string | null,
    scope: CredentialScope,
  ): Promise<Candidate | null> {
    if (credentialId === null) return { model, endpoint, credential: null };
    const own = await this.#parts.credentials.ownCredentials(scope);
    const credential = own.find(({ id }) => id === credentialId);
    return credential === undefined ? null : { model, endpoint, credential };
  }

  /** @throws AppError provider_unavailable if the key was deleted */
  async accessTo(candidate: Candidate, scope: CredentialScope, signal: CancelSignal): Promise<NativeBatchAccess> {
    const { credentials, timeouts = DEFAULT_TIMEOUTS } = this.#parts;
    const { endpoint, credential } = candidate;
    const { provider } = endpoint;
    const key = credential
      ? await credentials.forOwnCredential(credential, scope)
      : await credentials.forProvider(provider, scope);
    const access = credential ? key && accessWith(key, candidate) : { apiKey: key, endpoint };
    if (access === null || (access.apiKey === null && provider.apiKeyEnv !== null)) {
      throw new AppError('provider_unavailable', 'The provider is not available', {
        metadata: { provider_name: provider.name },
        internal: `${provider.slug}: there is no key for its batches`,
      });
    }
    this.#keys.calledWith(candidate, key);
    return { ...access, signal, timeouts: { ...timeouts, totalMs: TRANSFER_MS } };
  }

  /**
   * Reports that a provider refused a key of the caller's own. Ignores other errors, which say nothing about the key.
   */
  noteFailure(candidate: Candidate, scope: CredentialScope, error: AppError): void {
    this.#keys.note(candidate, scope, error);
  }

  /** Reports that the provider accepts the key, in case it was refused before. */
  noteAnswer(candidate: Candidate, scope: CredentialScope): void {
    this.#keys.note(candidate, scope, null);
  }

  async #read(
    api: CallableApi,
    translation: Translation | null,
    line: { readonly body: Buffer } | { readonly error: AppError },
    { candidate, generationId, requestBody }: NativeRequest,
  ): Promise<Answer> {
    const { model, endpoint, credential } = candidate;
    const byokFee = credential ? (this.#parts.byokFee ?? DEFAULT_BYOK_FEE) : undefined;
    const context = { generationId, model, endpoint, priceList: 'batch', beganMs: 0, byokFee, requestBody } as const;
    const answer = readLine(api, translation, line, context).catch((thrown: unknown) => {
      throw withItsCharge(thrown, candidate);
    });
    return APIS[api].cutsLongPrompts ? orCutShort(answer, (error) => cutAnswer(error, context)) : answer;
  }

  #translationOf(api: CallableApi, upstreamApi: UpstreamApi, endpoint: Endpoint): Translation | null {
    if (upstreamApi === api) return null;
    const { translations = TRANSLATIONS, adapters } = this.#parts;
    const { conversation } = adapters.get(endpoint.provider.protocol) ?? {};
    const upstream = upstreamApi === 'conversation' ? conversation : translations.get(upstreamApi)?.upstream;
    return { caller: translations.get(api)!.caller, upstream: upstream! };
  }
}

/** Returns the error of a line that is not an answer; `leftCallOf` returns what it costs nevertheless. */
function withItsCharge(thrown: unknown, candidate: Candidate): unknown {
  if (!(thrown instanceof AppError)) return thrown;
  const charge = leftChargeOf(thrown);
  return charge === undefined ? thrown : noteLeftCall(thrown, candidate, () => charge);
}

async function readLine(
  api: CallableApi,
  translation: Translation | null,
  line: { readonly body: Buffer } | { readonly error: AppError },
  context: AnswerContext,
): Promise<Answer> {
  if ('error' in line) throw line.error;
  if (translation !== null) return translateAnswer(line.body, context, translation);
  return dialectOf(api).readAnswer(line.body, context);
}

/**
 * Returns what was lost when a line was written. It is not stored, so the line is written again; if the catalogue has
 * changed so that the line cannot be written any more, nothing is known.
 */
function lossesOf(write: () => LossReport): LossReport {
  try {
    return write();
  } catch (thrown) {
    if (thrown instanceof AppError) return NO_LOSS;
    throw thrown;
  }
}
