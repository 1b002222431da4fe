import type { IncomingMessage } from 'node:http';
import { TranscriptionDto, TranscriptionJsonDto } from '@libs/contracts';
import { AppError } from '@libs/errors';
import {
  AudioCollector,
  audioFormatOfFile,
  audioFormatOfMediaType,
  type AudioFormat,
  type AudioInput,
  type Cancellation,
} from '@libs/inference';
import { validateInstance, type Egress } from '@libs/platform';
import type { FastifyRequest } from 'fastify';
import { FormMembers, type FormFieldKinds } from '../forms/form-members';
import { FormParser } from '../forms/form-parser';
import type { FormPart } from '../forms/form-part';
import { readForm } from '../forms/read-form';
import { readBody } from '../http/read-body';
import { isMultipart } from '../http/request-head';
import { audioAt, audioOf, formatNamed, MAX_AUDIO_BYTES, wrong } from './transcription-audio';
import { decodeAudio, takeOutAudio } from './transcription-json';

const MEBIBYTE = 1024 * 1024;
/** Room for 25 MiB in base64 and everything beside it. */
export const MAX_TRANSCRIPTION_BYTES = 36 * MEBIBYTE;
const IDLE_MS = 60_000;
const TOTAL_MS = 300_000;
const FILE = 'file';
/** `stream` is refused where the members are checked; the rest, such as `prompt`, means nothing here. */
const FIELDS: FormFieldKinds = {
  texts: ['model', 'language', 'response_format', 'session_id', 'user'],
  numbers: ['temperature'],
  flags: ['diarize', 'stream'],
  objects: ['provider', 'trace'],
  lists: ['timestamp_granularities', 'keyterms'],
};

/** A checked request with its recording. */
export interface IncomingTranscription {
  readonly dto: TranscriptionDto;
  readonly audio: AudioInput;
}

/** Takes a recording in, in whichever of its three forms it comes. */
export class TranscriptionIntake {
  constructor(private readonly egress: Egress) {}

  /** @throws AppError invalid_request naming the member; payload_too_large */
  async read({ raw }: FastifyRequest, abort: Cancellation): Promise<IncomingTranscription> {
    const contentType = raw.headers['content-type'] ?? '';
    if (isMultipart(contentType)) return readUpload(raw, contentType);
    return this.#readJson(
      await readBody(raw, { maxBytes: MAX_TRANSCRIPTION_BYTES, idleMs: IDLE_MS, totalMs: TOTAL_MS }),
      abort,
    );
  }

  async #readJson(body: Buffer, abort: Cancellation): Promise<IncomingTranscription> {
    const { parsed, data } = takeOutAudio(body);
    const dto = validateInstance(TranscriptionJsonDto, parsed);
    const { url, format } = dto.input_audio;
    if (data === null) return { dto, audio: audioAt(url!, format ?? null, this.egress, abort) };
    const audioFormat = formatNamed(format!, 'input_audio.format');
    return { dto, audio: audioOf(await decodeAudio(data), audioFormat, 'input_audio.data') };
  }
}

async function readUpload(request: IncomingMessage, contentType: string): Promise<IncomingTranscription> {
  const form = new FormMembers(FIELDS);
  const file = new UploadedFile();
  const parser = new FormParser(contentType, FILE, {
    onField: (name, value) => form.add(name, value),
    onFile: (part) => file.begin(part),
    onFileData: (piece) => file.add(piece),
  });
  await readForm(request, parser, MAX_TRANSCRIPTION_BYTES);
  const dto = validateInstance(TranscriptionDto, form.toBody());
  return { dto, audio: file.toAudio() };
}

/** The one file of a form, whose bytes stay in the pieces in which they came. */
class UploadedFile {
  readonly #collector = new AudioCollector(MAX_AUDIO_BYTES);
  #part: FormPart | null = null;

  begin(part: FormPart): void {
    if (this.#part !== null) throw wrong(FILE, 'is given more than once');
    if (part.filename === '') throw wrong(FILE, 'has no name');
    this.#part = part;
  }

  add(piece: Buffer): void {
    if (this.#collector.add(piece)) return;
    throw new AppError('payload_too_large', `${FILE} holds more than ${MAX_AUDIO_BYTES} bytes`);
  }

  toAudio(): AudioInput {
    if (this.#part === null) throw wrong(FILE, 'is required');
    return audioOf(this.#collector.toAudio(), formatOf(this.#part), FILE);
  }
}

function formatOf({ filename, mediaType }: FormPart): AudioFormat {
  const format = audioFormatOfFile(filename ?? '') ?? audioFormatOfMediaType(mediaType ?? '');
  if (format === null) throw wrong(FILE, 'has neither a name nor a Content-Type of a known audio format');
  return format;
}
