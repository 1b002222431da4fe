import { mediaTypeOf } from '../../media/audio-format';
import { callAbandoned, callCancelled } from '../../model/cancellation';
import { isObject, objectOf, stringOf, type JsonObject } from '@libs/json';
import type { AppError } from '@libs/errors';
import type { Authenticate, ToError } from '../../wire/json-exchange';
import type { SizedBody } from '../../wire/upstream-call';
import type { UpstreamHttp, UpstreamMessage } from '../../wire/upstream-http';
import { brokenAnswer, complaintError, readComplaint, type UpstreamComplaint } from '../../wire/upstream-error';
import type { UpstreamReply } from '../../wire/upstream-exchange';
import { upstreamFault } from '../../wire/upstream-fault';
import { readRetryAfterSeconds } from '../../wire/retry-after';
import { MultipartBody } from './multipart-body';
import type { TranscriptionCall } from './speech-adapter';
import { asWave } from './wave-head';

const JSON_TYPE = 'application/json';
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 3_000;
const PAUSE_GROWTH = 1.5;
/** Time limit for deleting a job whose call has ended early; the caller does not wait for the deletion. */
const WITHDRAWAL_MS = 5_000;

export const asBearer: Authenticate = (apiKey) => ['authorization', `Bearer ${apiKey}`];

export type FormFields = readonly (readonly [name: string, value: string])[];

/** The file that is uploaded for a recording. */
export interface AudioFile {
  readonly name: string;
  readonly type: string;
  readonly bytes: SizedBody;
}

/** Returns the recording as a file. Raw samples get a WAVE header, because few upstreams accept them without one. */
export async function audioFileOf({ transcription: { audio } }: TranscriptionCall): Promise<AudioFile> {
  const bytes = audio.arriving ?? (await audio.bytes());
  const format = audio.format === 'pcm' ? 'wav' : audio.format;
  return {
    name: `audio.${format}`,
    type: mediaTypeOf(format),
    bytes: audio.format === 'pcm' ? asWave(bytes) : bytes,
  };
}

/**
 * The requests of one transcription to one upstream, which share one time limit. It starts when the recording is
 * complete, because before that the caller's upload is waited for.
 */
export class SpeechSession {
  readonly #startedMs = performance.now();
  /** The provider works on the recording. */
  #hasJob = false;

  constructor(
    private readonly http: UpstreamHttp,
    readonly call: TranscriptionCall,
    private readonly authenticate: Authenticate,
    private readonly toError: ToError = speechError,
  ) {}

  post(path: string, body: object): Promise<JsonObject> {
    return this.postBytes(path, JSON_TYPE, Buffer.from(JSON.stringify(body)));
  }

  postForm(
    path: string,
    fields: FormFields,
    file: (AudioFile & { readonly field: string }) | null,
  ): Promise<JsonObject> {
    const form = new MultipartBody(fields, file);
    return this.postBytes(path, form.contentType, form);
  }

  postBytes(path: string, contentType: string, bytes: SizedBody | Buffer): Promise<JsonObject> {
    const isWhole = Buffer.isBuffer(bytes);
    const body = isWhole ? ofOnePiece(bytes) : bytes;
    const arrival = isWhole ? null : this.call.transcription.audio.arriving;
    return this.#exchange({ method: 'POST', path, headers: ['content-type', contentType], body, arrival });
  }

  get(path: string, accept = JSON_TYPE): Promise<JsonObject> {
    return this.#exchange({ method: 'GET', path, headers: [], body: null }, accept);
  }

  /**
   * Polls, at growing intervals, until `isOver` returns true. A job that is given up before its end is deleted at
   * `withdrawalPath`.
   */
  async poll(path: string, isOver: (job: JsonObject) => boolean, withdrawalPath: string | null): Promise<JsonObject> {
    this.#hasJob = true;
    try {
      for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * PAUSE_GROWTH)) {
        const job = await this.get(path);
        if (isOver(job)) return job;
        await this.#pause(pauseMs);
      }
    } catch (thrown) {
      if (withdrawalPath !== null) this.#withdraw(withdrawalPath);
      throw thrown;
    }
  }

  /** Returns the error of a failed job. A recording that the upstream cannot read is the caller's error. */
  jobFailed(message: string | undefined, code: string | null = null): AppError {
    const isAboutAudio = /audio|media|file|format|codec|transcod|duration|download|language|corrupt|empty/i;
    const status = isAboutAudio.test(message ?? '') ? 400 : 502;
    return complaintError(this.call.endpoint.provider, status, { message: message ?? null, code, status: null });
  }

  broken(reason: string): AppError {
    return brokenAnswer(this.call.endpoint.provider, reason);
  }

  async #exchange(message: UpstreamMessage, accept = JSON_TYPE): Promise<JsonObject> {
    if (this.#hasJob && this.call.signal.aborted) throw this.#left();
    const headers = [...message.headers, 'accept', accept, ...this.#headers()];
    const answer = this.#read(await this.http.send({ ...message, headers }, this.#timed()));
    // An answer to an incomplete recording is held back until the rest has arrived and was found valid.
    await message.arrival?.whole;
    return answer;
  }

  #read({ status, headers, body }: UpstreamReply): JsonObject {
    const { provider } = this.call.endpoint;
    if (status < 200 || status >= 300) {
      throw this.toError(provider, status, headers, body);
    }
    const answer = parsed(body);
    if (!isObject(answer)) throw this.broken('the answer is no JSON object');
    if (isObject(answer['error'])) throw complaintError(provider, 502, complaintOf(body));
    return answer;
  }

  #headers(): readonly string[] {
    const { apiKey, headers = {} } = this.call;
    return [...(apiKey === null ? [] : this.authenticate(apiKey.reveal())), ...Object.entries(headers).flat()];
  }

  get #endMs(): number {
    const { timeouts, transcription } = this.call;
    const { arriving } = transcription.audio;
    const startedMs = arriving === null ? this.#startedMs : (arriving.wholeAtMs ?? performance.now());
    return Math.max(this.#startedMs, startedMs) + timeouts.totalMs;
  }

  #timed(): TranscriptionCall {
    const { timeouts } = this.call;
    const totalMs = Math.max(1, this.#endMs - performance.now());
    return { ...this.call, timeouts: { ...timeouts, totalMs } };
  }

  /** Waits. Ends early if the caller disconnects or the time is up. */
  #pause(pauseMs: number): Promise<void> {
    const { signal, endpoint } = this.call;
    const leftMs = this.#endMs - performance.now();
    return new Promise((resolve, reject) => {
      const end = (settle: () => void): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        settle();
      };
      const onAbort = (): void => end(() => reject(this.#left()));
      const timer = setTimeout(
        () => end(() => (pauseMs < leftMs ? resolve() : reject(outOfTime(endpoint.provider)))),
        Math.max(0, Math.min(pauseMs, leftMs)),
      );
      if (signal.aborted) onAbort();
      else signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** A job whose caller has disconnected is charged, because the provider has the recording. */
  #left(): AppError {
    return this.call.signal.leaveTerms ? callAbandoned() : callCancelled();
  }

  #withdraw(path: string): void {
    const signal = AbortSignal.timeout(WITHDRAWAL_MS);
    const timeouts = { headersMs: WITHDRAWAL_MS, idleMs: WITHDRAWAL_MS, totalMs: WITHDRAWAL_MS };
    const message = { method: 'DELETE' as const, path, headers: [...this.#headers()], body: null };
    // A failure is ignored: no caller waits for it, and a job that cannot be deleted ends by itself.
    this.http.send(message, { ...this.call, signal, timeouts }).catch(() => undefined);
  }
}

function outOfTime(provider: TranscriptionCall['endpoint']['provider']): AppError {
  return upstreamFault(provider, 'timeout', 'The provider did not answer in time', {
    internal: `upstream ${provider.slug}: a job took longer than the call may`,
  });
}

function ofOnePiece(bytes: Buffer): SizedBody {
  return { length: bytes.length, [Symbol.iterator]: () => [bytes][Symbol.iterator]() };
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString()) as unknown;
  } catch {
    // The calling function throws for an answer that is not JSON.
    return null;
  }
}

const speechError: ToError = (provider, status, headers, body) =>
  complaintError(provider, status, complaintOf(body), readRetryAfterSeconds(headers, body));

/** Transcription services have various fields for error messages. */
function complaintOf(body: Buffer): UpstreamComplaint {
  const read = readComplaint(body);
  const own = objectOf(parsed(body));
  const detail = objectOf(own['detail']);
  return {
    message: read.message ?? stringOf(own['err_msg']) ?? stringOf(detail['message']) ?? stringOf(own['title']) ?? null,
    code: read.code ?? stringOf(own['err_code']) ?? stringOf(detail['status']) ?? null,
    status: read.status,
  };
}
