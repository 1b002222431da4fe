import { Injectable } from '@nestjs/common';
import type { TranscriptionDto } from '@libs/contracts';
import {
  InferenceEngine,
  transcriptionNeeds,
  transcriptionOf,
  type ArrivingAudio,
  type AudioInput,
  type Cancellation,
  type Endpoint,
  type TranscriptionAnswer,
  type TranscriptionRequest,
} from '@libs/inference';
import { requireWorkspace } from '../auth/require-workspace';
import { GatewayEnv } from '../gateway.env';
import { GenerationRecorder } from '../generations/generation-recorder';
import { InferenceLimits, type ExpectedTokens } from '../limits/inference-limits';
import { BookedCall } from './booked-call';
import { routedRequest } from './checked-call';
import type { IncomingCall } from '../generations/incoming-call';
import { dearestCharge } from '../routing/hold-estimate';
import { InferenceRouting } from '../routing/inference-routing';
import { routeWishOf } from '../routing/route-request';
import type { IncomingTranscription } from './incoming-transcription';
import { UPLOAD_PACE } from './transcription-upload';

const API = 'transcription';
/** Transcriptions are limited by requests, not by tokens, because their tokens are unknown beforehand. */
const NO_TOKENS: ExpectedTokens = { promptTokens: 0, maxTokens: null, answers: 0 };

/** Runs one transcription: records it, routes it and charges it. */
@Injectable()
export class TranscriptionService {
  constructor(
    private readonly engine: InferenceEngine,
    private readonly routing: InferenceRouting,
    private readonly recorder: GenerationRecorder,
    private readonly limits: InferenceLimits,
    private readonly env: GatewayEnv,
  ) {}

  /** @throws AppError for every refusal of the API */
  async transcribe(call: IncomingCall, incoming: IncomingTranscription): Promise<TranscriptionAnswer> {
    const admitted = this.limits.admit(requireWorkspace(call.caller), NO_TOKENS)?.decided ?? Promise.resolve();
    const { arriving } = incoming.audio;
    if (incoming.rest !== null && arriving !== null) {
      return this.#transcribeAhead(call, incoming, arriving, incoming.rest, admitted);
    }
    await admitted;
    return this.#transcribeWhole(call, incoming);
  }

  /**
   * Calls a provider while the recording is still arriving (ADR 0027). The last piece is sent only when the recording
   * has arrived, is valid, and its price is reserved. Until then nothing is recorded in the ledger, as with any upload.
   */
  async #transcribeAhead(
    call: IncomingCall,
    { dto, audio }: IncomingTranscription,
    arriving: ArrivingAudio,
    rest: Promise<IncomingTranscription>,
    admitted: Promise<void>,
  ): Promise<TranscriptionAnswer> {
    try {
      endWith(call.abort, arriving);
      // The time of the upload does not count towards the engine's time limit.
      const deadlineMs = this.engine.deadlineMs() + UPLOAD_PACE.longestMs;
      const request = { ...this.#requestOf(call, dto, audio), signal: arriving.annulment, deadlineMs };
      const ahead = admitted.then(() => this.engine.transcribe(request));
      // An error of the request has precedence over an error of its providers.
      ahead.catch(() => undefined);
      const whole = await rest;
      await admitted;
      if (arriving.isAnnulled) return await this.#transcribeWhole({ ...call, parsed: whole.dto }, whole);
      return await this.#answer(call, request, () => {
        arriving.complete();
        return ahead;
      });
    } catch (thrown) {
      arriving.annul();
      throw thrown;
    }
  }

  #transcribeWhole(call: IncomingCall, { dto, audio }: IncomingTranscription): Promise<TranscriptionAnswer> {
    const request = this.#requestOf(call, dto, audio);
    return this.#answer(call, request, () => this.engine.transcribe(request));
  }

  /** `ask` is called when the payment is reserved, or known to be covered. */
  async #answer(
    call: IncomingCall,
    request: TranscriptionRequest,
    ask: () => Promise<TranscriptionAnswer>,
  ): Promise<TranscriptionAnswer> {
    const booked = new BookedCall(this.recorder, {
      api: API,
      call,
      aim: { request },
      model: this.routing.recordedName(request.model),
      streamed: false,
      holdPicoUsd: this.#holdFor(call, request),
      unprovenPicoUsd: this.#holdFor(call, ofUnknownLength(request)),
      admission: null,
      plugins: null,
    });
    const answer = await booked.reach(ask);
    const interruption = booked.settle(answer);
    if (interruption !== null) throw interruption;
    return answer;
  }

  #requestOf(call: IncomingCall, dto: TranscriptionDto, audio: AudioInput): TranscriptionRequest {
    const transcription = transcriptionOf(dto, audio);
    const { TRANSCRIPTION_TIMEOUT_MS: timeoutMs } = this.env;
    return {
      ...routedRequest(API, call, routeWishOf(dto), 0),
      ownKeys: this.routing.ownKeysOf(call.caller),
      needs: transcriptionNeeds(transcription),
      mediaParts: 1,
      audioParts: 1,
      timeouts: { headersMs: timeoutMs, idleMs: timeoutMs, totalMs: timeoutMs },
      transcription,
    };
  }

  /** Returns the most that the transcription may cost at the most expensive endpoint. */
  #holdFor({ caller }: IncomingCall, { model, ownKeys, transcription }: TranscriptionRequest): bigint {
    const priced = {
      models: [model],
      mayServe: ({ apis }: Endpoint) => apis.includes(API),
      hasKey: this.routing.providersWithKey(ownKeys),
      listPriceAt: (at: Endpoint) => this.engine.mostExpensiveTranscription(transcription, at),
    };
    return dearestCharge(this.routing.catalogue(), priced, this.routing.chargedShareFor(caller, ownKeys));
  }
}

/** A file can be built that a provider plays for longer than it states. */
function ofUnknownLength(request: TranscriptionRequest): TranscriptionRequest {
  const { audio } = request.transcription;
  const transcription = { ...request.transcription, secondsWhenAsked: null, audio: { ...audio, length: () => null } };
  return { ...request, transcription };
}

/** Ends the recording when its caller disconnects or the process stops: nothing more is sent. */
function endWith(abort: Cancellation, arriving: ArrivingAudio): void {
  const onEnd = (): void => {
    // A recording that was sent completely is handled like any other call whose caller has disconnected.
    if (!arriving.isWhole || abort.leaveTerms === null) return arriving.annul();
    arriving.leave(abort.leaveTerms);
    abort.addEventListener('abort', onEnd);
  };
  if (abort.aborted) onEnd();
  else abort.addEventListener('abort', onEnd);
}
