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
import { GatewayEnv } from '../gateway.env';
import { GenerationRecorder } from '../generations/generation-recorder';
import { InferenceLimits, type ExpectedTokens } from '../limits/inference-limits';
import { BookedCall } from './booked-call';
import { routedRequest } from './checked-call';
import type { IncomingCall } from '../generations/incoming-call';
import { dearestCharge } from '../routing/hold-estimate';
import { InferenceRouting } from '../routing/inference-routing';
import { workspaceOf } from './call-facts';
import { routeWishOf } from '../routing/route-request';
import type { IncomingTranscription } from './incoming-transcription';
import { UPLOAD_PACE } from './transcription-upload';

const API = 'transcription';
/** Speech is limited by requests: its tokens are unknown before it has been transcribed. */
const NO_TOKENS: ExpectedTokens = { promptTokens: 0, maxTokens: null, answers: 0 };

/** Runs one transcription: puts it on the books, routes it and charges it. */
@Injectable()
export class TranscriptionService {
  constructor(
    private readonly engine: InferenceEngine,
    private readonly routing: InferenceRouting,
    private readonly recorder: GenerationRecorder,
    private readonly limits: InferenceLimits,
    private readonly env: GatewayEnv,
  ) {}

  /** @throws AppError for every refusal of the interface */
  async transcribe(call: IncomingCall, incoming: IncomingTranscription): Promise<TranscriptionAnswer> {
    const admitted = this.limits.admit(workspaceOf(call), NO_TOKENS)?.decided ?? Promise.resolve();
    const { arriving } = incoming.audio;
    if (incoming.rest !== null && arriving !== null) {
      return this.#transcribeAhead(call, incoming, arriving, incoming.rest, admitted);
    }
    await admitted;
    return this.#transcribeWhole(call, incoming);
  }

  /**
   * Asks while the recording arrives (ADR 0027). The provider gets the end of it only when all of it has arrived and is
   * valid, and its price is held; until then nothing is on the books, as for any upload.
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
      // The time that the upload may take is not the engine's.
      const deadlineMs = this.engine.deadlineMs() + UPLOAD_PACE.longestMs;
      const request = { ...this.#requestOf(call, dto, audio), signal: arriving.annulment, deadlineMs };
      const ahead = admitted.then(() => this.engine.transcribe(request));
      // A fault of the request is reported before a fault of its providers.
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

  /** `ask` is called when the money is there, or believed to be. */
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

  /** The most that the transcription may cost at the dearest endpoint. */
  #holdFor({ caller }: IncomingCall, { model, ownKeys, transcription }: TranscriptionRequest): bigint {
    const priced = {
      models: [model],
      mayServe: ({ apis }: Endpoint) => apis.includes(API),
      listPriceAt: (at: Endpoint) => this.engine.mostExpensiveTranscription(transcription, at),
    };
    return dearestCharge(this.routing.catalogue(), priced, this.routing.chargedShareFor(caller, ownKeys));
  }
}

/** A file can be made that a provider plays for longer than it says. */
function ofUnknownLength(request: TranscriptionRequest): TranscriptionRequest {
  const { audio } = request.transcription;
  const transcription = { ...request.transcription, secondsWhenAsked: null, audio: { ...audio, length: () => null } };
  return { ...request, transcription };
}

/** Ends the recording when its caller has left or the process stops: nothing more is sent. */
function endWith(abort: Cancellation, arriving: ArrivingAudio): void {
  const onEnd = (): void => {
    // What has been sent whole is read on like any other call that its caller has left.
    if (!arriving.isWhole || abort.leaveTerms === null) return arriving.annul();
    arriving.leave(abort.leaveTerms);
    abort.addEventListener('abort', onEnd);
  };
  if (abort.aborted) onEnd();
  else abort.addEventListener('abort', onEnd);
}
