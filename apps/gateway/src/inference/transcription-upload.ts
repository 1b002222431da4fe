import type { IncomingMessage } from 'node:http';
import type { TranscriptionDto } from '@libs/contracts';
import { AppError } from '@libs/errors';
import {
  ArrivingAudio,
  AudioCollector,
  audioFormatOfFile,
  audioFormatOfMediaType,
  looksLike,
  transcriptionApi,
  type AudioFormat,
  type AudioInput,
} from '@libs/inference';
import { validateInstance } from '@libs/platform';
import { FormMembers } from '../forms/form-members';
import { FormParser } from '../forms/form-parser';
import type { FormPart } from '../forms/form-part';
import { readForm } from '../forms/read-form';
import type { IncomingTranscription } from './incoming-transcription';
import { audioOf, MAX_AUDIO_BYTES, wrong } from './transcription-audio';

/** Enough for 25 MiB in base64 and the rest of the body. */
export const MAX_TRANSCRIPTION_BYTES = 36 * 1024 * 1024;
const FILE = 'file';
/** Enough to see what a file is. */
const HEAD_BYTES = 16;
/** A shorter file arrives quickly, and is passed on after it has arrived. */
const LEAST_AHEAD_BYTES = 256 * 1024;

/**
 * Lowest speed of an upload whose recording is passed on while it arrives. A slower one would occupy a provider's
 * connection, the provider would be blamed for giving up, and little time would be saved.
 */
export interface UploadPace {
  /** Between two pieces. */
  readonly stallMs: number;
  /** Longest time for the whole upload. */
  readonly longestMs: number;
}

export const UPLOAD_PACE: UploadPace = { stallMs: 5_000, longestMs: 60_000 };

/**
 * Reads a form with a recording. If all other fields precede the file, it passes the request on when the file begins,
 * with a recording that is still arriving. If the rest of the form then changes the request, that recording is
 * annulled, and the request continues with the complete recording, or is refused.
 */
export class TranscriptionUpload {
  readonly #form = new FormMembers(transcriptionApi.formFields);
  readonly #collector = new AudioCollector(MAX_AUDIO_BYTES);
  readonly #ahead = Promise.withResolvers<IncomingTranscription>();
  #rest: Promise<IncomingTranscription> | null = null;
  #part: FormPart | null = null;
  /** Length of the file in bytes, if no other part of the form follows it. */
  #announced = 0;
  #isJudged = false;
  #arriving: ArrivingAudio | null = null;
  #stall: NodeJS.Timeout | undefined;
  #endMs = 0;
  /** The measured recording; null until it has arrived completely. */
  #audio: AudioInput | null = null;

  constructor(
    private readonly request: IncomingMessage,
    private readonly pace: UploadPace,
  ) {}

  /** @throws AppError invalid_request naming the member; payload_too_large */
  read(): Promise<IncomingTranscription> {
    this.#rest = this.#readAll();
    return Promise.race([this.#ahead.promise, this.#rest]);
  }

  async #readAll(): Promise<IncomingTranscription> {
    const parser = new FormParser(this.request.headers['content-type'] ?? '', FILE, {
      onField: (name, value) => this.#form.add(name, value),
      onFile: (part, framing) => this.#beginFile(part, framing),
      onFileData: (piece) => this.#addData(piece),
    });
    try {
      await readForm(this.request, parser, MAX_TRANSCRIPTION_BYTES);
      const dto = validateInstance(transcriptionApi.body, this.#form.toBody());
      if (this.#part === null) throw wrong(FILE, 'is required');
      const audio = audioOf(this.#collector.toAudio(), formatOf(this.#part), FILE);
      this.#audio = audio;
      // The file is shorter than announced if any part follows it, for example a field that changes the request.
      if (this.#collector.length !== this.#announced) this.#arriving?.annul();
      return { dto, audio, rest: null };
    } catch (thrown) {
      this.#arriving?.annul();
      throw thrown;
    } finally {
      clearTimeout(this.#stall);
    }
  }

  #beginFile(part: FormPart, framing: number): void {
    if (this.#part !== null) throw wrong(FILE, 'is given more than once');
    if (part.filename === '') throw wrong(FILE, 'has no name');
    this.#part = part;
    // NaN if the caller does not announce the length of the form.
    this.#announced = Number(this.request.headers['content-length']) - framing;
  }

  #addData(piece: Buffer): void {
    if (!this.#collector.add(piece)) {
      throw new AppError('payload_too_large', `${FILE} holds more than ${MAX_AUDIO_BYTES} bytes`);
    }
    if (!this.#isJudged && this.#collector.length >= HEAD_BYTES) this.#passOn();
    else if (this.#arriving !== null) this.#keepPace(this.#arriving);
  }

  /** Passes the request on if it can already be validated; errors are reported after everything has arrived. */
  #passOn(): void {
    this.#isJudged = true;
    const format = formatNamedBy(this.#part!);
    const isOfUse = this.#announced >= LEAST_AHEAD_BYTES && this.#announced <= MAX_AUDIO_BYTES;
    if (!isOfUse || format === null || !looksLike(format, this.#collector.toAudio())) return;
    const dto = this.#checked();
    if (dto === null) return;
    const arriving = new ArrivingAudio(this.#announced, this.#collector);
    const rest = this.#rest!;
    const bytes = async () => (await rest).audio.bytes();
    const audio: AudioInput = { format, url: null, arriving, bytes, length: () => this.#audio?.length() ?? null };
    this.#arriving = arriving;
    this.#endMs = performance.now() + this.pace.longestMs;
    this.#stall = setTimeout(() => arriving.annul(), this.pace.stallMs);
    this.#ahead.resolve({ dto, audio, rest });
  }

  #keepPace(arriving: ArrivingAudio): void {
    if (performance.now() > this.#endMs || this.#collector.length > arriving.length) arriving.annul();
    this.#stall?.refresh();
  }

  /** Returns the validated fields that precede the file; null if they would be refused. */
  #checked(): TranscriptionDto | null {
    try {
      return validateInstance(transcriptionApi.body, this.#form.toBody());
    } catch (error) {
      if (error instanceof AppError) return null;
      throw error;
    }
  }
}

/** Returns the format by the file extension, else by the Content-Type; null if neither names one. */
function formatNamedBy({ filename, mediaType }: FormPart): AudioFormat | null {
  return audioFormatOfFile(filename ?? '') ?? audioFormatOfMediaType(mediaType ?? '');
}

function formatOf(part: FormPart): AudioFormat {
  const format = formatNamedBy(part);
  if (format === null) throw wrong(FILE, 'has neither a name nor a Content-Type of a known audio format');
  return format;
}
