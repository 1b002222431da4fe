import type { TranscriptionDto } from '@libs/contracts';
import { AppError } from '@libs/errors';
import {
  expectedTranscriptionCost,
  failedRouteOf,
  transcriptionNeeds,
  transcriptionTraitsOf,
  type AudioInput,
  type InferenceEngine,
  type Transcription,
  type TranscriptionAnswer,
  type TranscriptionRequest,
} from '@libs/inference';
import type { GenerationRecorder } from '../generations/generation-recorder';
import type { GenerationTicket } from '../generations/generation-ticket';
import { keyLimitOf } from '../generations/key-limit-of';
import type { ExpectedTokens, InferenceLimits } from '../limits/inference-limits';
import type { RecordedCall } from './call-details';
import { answered, failed } from './call-outcome';
import { routedRequest, type IncomingCall } from './checked-call';
import { endpointsOf } from './hold-estimate';
import type { InferenceRouting } from './inference-routing';
import { dayOf, observeUpstream, workspaceOf } from './inference.service';
import { routeWishOf } from './route-request';
import type { IncomingTranscription } from './transcription-intake';

const API = 'transcription';
/** Speech is limited by requests: nobody knows its tokens before it has been heard. */
const NO_TOKENS: ExpectedTokens = { promptTokens: 0, maxTokens: null, answers: 0 };

/** A call that is on the books. */
interface OpenCall {
  readonly recorded: RecordedCall;
  readonly request: TranscriptionRequest;
  readonly ticket: GenerationTicket;
  readonly startedMs: number;
}

/**
 * One transcription: put it on the books, route it, charge it. The ticket is ended on every way out, so nothing
 * is held for a call that is over.
 */
export class TranscriptionService {
  constructor(
    private readonly engine: Pick<InferenceEngine, 'transcribe'>,
    private readonly routing: InferenceRouting,
    private readonly recorder: GenerationRecorder,
    /** What one provider may take. */
    private readonly timeoutMs: number,
    private readonly limits: InferenceLimits | null = null,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** @throws AppError for every refusal of the interface */
  async transcribe(call: IncomingCall, { dto, audio }: IncomingTranscription): Promise<TranscriptionAnswer> {
    await this.limits?.admit(workspaceOf(call), NO_TOKENS)?.decided;
    const open = this.#open(call, dto, transcriptionOf(dto, audio));
    const { ticket, request, startedMs, recorded } = open;
    try {
      if (ticket.covered === null) ticket.onRefused(() => call.abort.abort());
      else await ticket.covered;
      const answer = await this.engine.transcribe(request);
      const endedMs = this.nowMs();
      observeUpstream(API, answer.endpoint.provider.slug, (endedMs - startedMs) / 1_000);
      ticket.settle(answered(recorded, answer, { startedMs, firstByteMs: endedMs, endedMs }));
      return answer;
    } catch (thrown) {
      throw this.#failed(open, call, thrown);
    }
  }

  #open(call: IncomingCall, dto: TranscriptionDto, transcription: Transcription): OpenCall {
    const route = routeWishOf(dto);
    const request: TranscriptionRequest = {
      ...routedRequest(API, call, route, 0),
      needs: transcriptionNeeds(transcription),
      mediaParts: 1,
      audioParts: 1,
      timeouts: { headersMs: this.timeoutMs, idleMs: this.timeoutMs, totalMs: this.timeoutMs },
      transcription,
    };
    const { organizationId, keyHash } = call.caller;
    const opening = {
      id: call.generationId,
      createdOn: dayOf(call.generationId),
      organizationId,
      workspaceId: workspaceOf(call),
      apiKeyHash: keyHash,
      api: API,
      model: route.model,
      streamed: false,
      keyLimit: keyLimitOf(call.caller),
    };
    const ticket = this.recorder.open(opening, this.#holdFor(route.model, transcription.audio));
    return { recorded: { api: API, call, aim: { request } }, request, ticket, startedMs: this.nowMs() };
  }

  /** What the recording costs at the dearest endpoint; where nobody knows its length, the longest that is taken. */
  #holdFor(model: string, audio: AudioInput): bigint {
    const seconds = audio.length()?.seconds;
    return endpointsOf(this.routing.catalogue(), model)
      .filter(({ apis }) => apis.includes(API))
      .map((endpoint) => expectedTranscriptionCost(endpoint, seconds ?? transcriptionTraitsOf(endpoint).maxSeconds))
      .reduce((dearest, cost) => (cost > dearest ? cost : dearest), 0n);
  }

  #failed({ ticket, recorded, startedMs }: OpenCall, { abort }: IncomingCall, thrown: unknown): AppError {
    const error = ticket.refusal ?? AppError.from(thrown);
    const attempts = (thrown instanceof AppError && failedRouteOf(thrown)?.attempts) || [];
    const failure = { error, isCancelled: abort.aborted, attempts };
    const outcome = failed(recorded, failure, { startedMs, endedMs: this.nowMs() });
    // A request that could not be routed has asked no provider.
    if (error.availability === undefined) ticket.settle(outcome);
    else ticket.withdraw(outcome);
    return error;
  }
}

function transcriptionOf(dto: TranscriptionDto, audio: AudioInput): Transcription {
  return {
    audio,
    language: dto.language ?? null,
    temperature: dto.temperature ?? null,
    isVerbose: dto.response_format === 'verbose_json',
    granularities: dto.timestamp_granularities ?? ['segment'],
    keyterms: dto.keyterms ?? [],
    diarize: dto.diarize ?? false,
    options: dto.provider?.options ?? {},
  };
}
