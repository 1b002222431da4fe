import type { TranscriptionDto } from '@libs/contracts';
import { AppError } from '@libs/errors';
import {
  callCancelled,
  failedRouteOf,
  leftCallOf,
  sameRoute,
  transcriptionNeeds,
  transcriptionOf,
  type ArrivingAudio,
  type AudioInput,
  type Cancellation,
  type Endpoint,
  type InferenceEngine,
  type TranscriptionAnswer,
  type TranscriptionRequest,
} from '@libs/inference';
import type { GenerationRecorder } from '../generations/generation-recorder';
import type { GenerationTicket } from '../generations/generation-ticket';
import type { ExpectedTokens, InferenceLimits } from '../limits/inference-limits';
import type { RecordedCall } from './call-details';
import { answered, failed } from './call-outcome';
import { routedRequest } from './checked-call';
import type { IncomingCall } from '../generations/incoming-call';
import { dearestCharge } from '../routing/hold-estimate';
import type { InferenceRouting } from '../routing/inference-routing';
import { causeOf, openingOf, workspaceOf } from './call-facts';
import { routeWishOf } from '../routing/route-request';
import type { IncomingTranscription } from './incoming-transcription';
import { UPLOAD_PACE } from './transcription-upload';
import { observeUpstream } from './upstream-time';

const API = 'transcription';
/** Speech is limited by requests: its tokens are unknown before it has been transcribed. */
const NO_TOKENS: ExpectedTokens = { promptTokens: 0, maxTokens: null, answers: 0 };

/** A call that is on the books. */
interface OpenCall {
  readonly recorded: RecordedCall;
  readonly ticket: GenerationTicket;
  readonly startedMs: number;
}

/**
 * Runs one transcription: puts it on the books, routes it and charges it. The ticket is ended on every way out, so
 * nothing is held for a call that is over.
 */
export class TranscriptionService {
  constructor(
    private readonly engine: Pick<InferenceEngine, 'transcribe' | 'deadlineMs' | 'mostExpensiveTranscription'>,
    private readonly routing: InferenceRouting,
    private readonly recorder: GenerationRecorder,
    /** Timeout of one provider, in milliseconds. */
    private readonly timeoutMs: number,
    private readonly limits: Pick<InferenceLimits, 'admit'> | null = null,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** @throws AppError for every refusal of the interface */
  async transcribe(call: IncomingCall, incoming: IncomingTranscription): Promise<TranscriptionAnswer> {
    const admitted = this.limits?.admit(workspaceOf(call), NO_TOKENS)?.decided ?? Promise.resolve();
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
    const open = this.#open(call, request);
    const { ticket, startedMs, recorded } = open;
    try {
      if (ticket.covered === null) ticket.onRefused(() => call.abort.abort());
      else await ticket.covered;
      const answer = await ask();
      const endedMs = this.nowMs();
      observeUpstream(API, answer.endpoint.provider.slug, (endedMs - startedMs) / 1_000);
      const interruption = call.abort.aborted ? callCancelled() : null;
      ticket.settle(answered(recorded, { ...answer, interruption }, { startedMs, firstByteMs: endedMs, endedMs }));
      if (interruption !== null) throw interruption;
      return answer;
    } catch (thrown) {
      throw this.#failed(open, call, thrown);
    }
  }

  #requestOf(call: IncomingCall, dto: TranscriptionDto, audio: AudioInput): TranscriptionRequest {
    const transcription = transcriptionOf(dto, audio);
    return {
      ...routedRequest(API, call, routeWishOf(dto), 0),
      ownKeys: this.routing.ownKeysOf(call.caller),
      needs: transcriptionNeeds(transcription),
      mediaParts: 1,
      audioParts: 1,
      timeouts: { headersMs: this.timeoutMs, idleMs: this.timeoutMs, totalMs: this.timeoutMs },
      transcription,
    };
  }

  #open(call: IncomingCall, request: TranscriptionRequest): OpenCall {
    const opening = openingOf(call, { api: API, model: request.model, streamed: false });
    const ticket = this.recorder.open(opening, this.#holdFor(call, request), causeOf(call));
    return { recorded: { api: API, call, aim: { request } }, ticket, startedMs: this.nowMs() };
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

  #failed({ ticket, recorded, startedMs }: OpenCall, { abort }: IncomingCall, thrown: unknown): AppError {
    const error = ticket.refusal ?? AppError.from(thrown);
    const route = thrown instanceof AppError ? failedRouteOf(thrown) : null;
    const attempts = route?.attempts ?? [];
    const failure = { error, isCancelled: abort.aborted, attempts, left: leftCallOf(thrown) };
    const outcome = failed(recorded, failure, { startedMs, endedMs: this.nowMs() });
    // A request that could not be routed has asked no provider.
    if (error.availability === undefined) ticket.settle(outcome);
    else ticket.withdraw(outcome);
    return sameRoute(error, route);
  }
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
