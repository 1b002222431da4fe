import { transcriptionApi } from '@libs/inference';
import { validateInstance, type Egress } from '@libs/platform';
import type { FastifyRequest } from 'fastify';
import { readBody } from '../http/read-body';
import { isMultipart } from '../http/request-head';
import type { IncomingTranscription } from './incoming-transcription';
import { audioAt, audioOf, formatNamed, type AudioCall } from './transcription-audio';
import { decodeAudio, takeOutAudio } from './transcription-json';
import { MAX_TRANSCRIPTION_BYTES, TranscriptionUpload, UPLOAD_PACE, type UploadPace } from './transcription-upload';

const TIMES = { idleMs: 60_000, totalMs: 300_000 };

/** Takes a recording in, in whichever of its three forms it comes. */
export class TranscriptionIntake {
  constructor(
    private readonly egress: Egress,
    private readonly pace: UploadPace = UPLOAD_PACE,
  ) {}

  /**
   * Resolves before a form has fully arrived if it can already be passed on.
   * @throws AppError invalid_request with the name of the field; payload_too_large
   */
  async read({ raw }: FastifyRequest, call: AudioCall): Promise<IncomingTranscription> {
    if (isMultipart(raw.headers['content-type'])) return new TranscriptionUpload(raw, this.pace).read();
    return this.#readJson(await readBody(raw, { maxBytes: MAX_TRANSCRIPTION_BYTES, ...TIMES }), call);
  }

  async #readJson(body: Buffer, call: AudioCall): Promise<IncomingTranscription> {
    const { parsed, data } = takeOutAudio(body);
    const dto = validateInstance(transcriptionApi.jsonBody, parsed);
    const { url, format } = dto.input_audio;
    if (data === null) return { dto, audio: audioAt(url!, format ?? null, this.egress, call), rest: null };
    const audioFormat = formatNamed(format!, 'input_audio.format');
    return { dto, audio: audioOf(await decodeAudio(data), audioFormat, 'input_audio.data'), rest: null };
  }
}
