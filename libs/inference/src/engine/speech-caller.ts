import { AppError } from '@libs/errors';
import { transcriptBody, transcriptUsageOf } from '../apis/transcription/transcript-body';
import { billTranscription, mostExpensiveTranscription } from '../apis/transcription/transcription-bill';
import type { Transcription } from '../audio/transcription';
import type { Answer } from '../dialects/dialect';
import type { CallerParts } from './endpoint-caller';
import type { LeftCharge } from '../model/left-charge';
import type { RoutedRequest, Served } from './inference-call';
import { DEFAULT_BYOK_FEE, type Share } from '../pricing/byok-fee';
import type { PicoUsd } from '../pricing/money';
import type { SpeechAdapter } from '../providers/speech/speech-adapter';
import type { Endpoint } from '../catalogue/catalogue';
import type { Candidate } from '../routing/route-plan';
import type { TimedRequest, UpstreamCalls } from './upstream-calls';

/** A validated transcription. Its `body` is empty, because the request is not in any dialect. */
export interface TranscriptionRequest extends RoutedRequest {
  readonly transcription: Transcription;
}

interface Transcribed extends Answer {
  /** Length of the sound in seconds, as counted; null if it is unknown. */
  readonly seconds: number | null;
}

export interface TranscriptionAnswer extends Transcribed, Served {}

const NO_BODY = Buffer.alloc(0);

/** Calls one endpoint for one recording, and makes the answer and the bill from the result. */
export class SpeechCaller {
  constructor(
    private readonly parts: Pick<CallerParts, 'adapters' | 'byokFee'>,
    private readonly calls: UpstreamCalls,
  ) {}

  /** Downloads the recording if a candidate needs its bytes. A failure here is not a failure of the provider. */
  async prepare(candidates: readonly Candidate[], { audio }: Transcription): Promise<void> {
    if (audio.url === null) return;
    if (candidates.some(({ endpoint }) => !this.#adapterOf(endpoint).takesUrls)) await audio.bytes();
  }

  async transcribe(candidate: Candidate, request: TimedRequest, transcription: Transcription): Promise<Transcribed> {
    const { endpoint, credential } = candidate;
    const call = await this.calls.callOf(candidate, request, NO_BODY);
    const result = await this.#adapterOf(endpoint).transcribe({ ...call, transcription });
    const bill = billTranscription(result, { transcription, endpoint, byokFee: this.#feeFor(credential) });
    const transcript = { ...result.transcript };
    transcript.durationSeconds ??= bill.seconds ?? undefined;
    return {
      body: transcriptBody(transcription, transcript, transcriptUsageOf(bill, result.tokens !== null)),
      usage: bill.usage,
      cost: bill.cost,
      seconds: bill.seconds,
      finishReason: null,
      nativeFinishReason: null,
      upstreamId: result.upstreamId,
    };
  }

  /** Returns the most that a recording may cost at an endpoint, at the list price. This amount is reserved. */
  mostExpensive(transcription: Transcription, endpoint: Endpoint): PicoUsd {
    const cap = this.#outputCapOf(transcription, endpoint);
    return mostExpensiveTranscription({ transcription, endpoint }, cap).cost.totalCost;
  }

  /**
   * Returns the charge of a transcription whose caller disconnected before there was a transcript: the reserved amount.
   */
  leftCharge({ endpoint, credential }: Candidate, { transcription }: TranscriptionRequest): LeftCharge {
    const served = { transcription, endpoint, byokFee: this.#feeFor(credential) };
    const { usage, cost } = mostExpensiveTranscription(served, this.#outputCapOf(transcription, endpoint));
    return { usage, cost, upstreamId: null };
  }

  #feeFor(credential: Candidate['credential']): Share | undefined {
    return credential ? (this.parts.byokFee ?? DEFAULT_BYOK_FEE) : undefined;
  }

  /** Returns the cap on output tokens; null if the endpoint's provider accepts no cap, or cannot transcribe. */
  #outputCapOf(transcription: Transcription, endpoint: Endpoint): number | null {
    const speech = this.parts.adapters.get(endpoint.provider.protocol)?.speech;
    return speech?.outputCap?.(transcription, endpoint) ?? null;
  }

  #adapterOf({ provider }: Endpoint): SpeechAdapter {
    const speech = this.parts.adapters.get(provider.protocol)?.speech;
    if (speech !== undefined) return speech;
    throw new AppError('provider_unavailable', 'The provider is not available', {
      metadata: { provider_name: provider.name },
      internal: `${provider.slug}: protocol ${provider.protocol} cannot transcribe`,
    });
  }
}
