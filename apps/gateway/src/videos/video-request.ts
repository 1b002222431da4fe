import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { GatheredPieces, type VideoDto } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { namedAsSent, videoFromOpenAi, videosApi, type SentNames } from '@libs/inference';
import { validateInstance } from '@libs/platform';
import { FormMembers } from '../forms/form-members';
import { FormParser } from '../forms/form-parser';
import { readForm } from '../forms/read-form';
import { parseJsonObject, type JsonObject } from '../http/parse-json';
import { readBody } from '../http/read-body';
import { isMultipart } from '../http/request-head';
import { LARGEST_MEDIUM_BYTES } from './media-reader';

const MEBIBYTE = 1024 * 1024;
/** Allows pictures and sound inside the JSON. */
export const MAX_VIDEO_BYTES = 32 * MEBIBYTE;
const LIMITS = { maxBytes: MAX_VIDEO_BYTES, idleMs: 60_000, totalMs: 300_000 };

const REFERENCE = 'input_reference';
const REFERENCE_MEMBER = /^input_reference\[(image_url|file_id)\]$/;

/** A checked request for a video. */
export interface IncomingVideo {
  readonly dto: VideoDto;
  readonly names: SentNames;
  /** SHA-256 of the request's content, hex. The same for a repeated request, whose form may have another boundary. */
  readonly hash: () => string;
}

/**
 * Reads a request for a video: JSON, or a form with at most one file, as OpenAI's clients send it. In a form only the
 * picture may be large, and its bytes are counted while they arrive.
 * @throws AppError invalid_request with the name of the field; payload_too_large
 */
export async function readVideoRequest({ raw }: Pick<FastifyRequest, 'raw'>): Promise<IncomingVideo> {
  const contentType = raw.headers['content-type'] ?? '';
  const isForm = isMultipart(contentType);
  const body = isForm ? null : await readBody(raw, LIMITS);
  const said = body === null ? await readVideoForm(raw, contentType) : parseJsonObject(body, 'lenient');
  const { members, names } = videoFromOpenAi(said);
  const session = raw.headers['x-session-id'];
  const whole = session === undefined || members['session_id'] ? members : { ...members, session_id: session };
  try {
    const dto = validateInstance(videosApi.body, whole);
    return { dto, names, hash: () => hashOf(body ?? JSON.stringify(said)) };
  } catch (thrown) {
    throw namedAsSent(AppError.from(thrown), names);
  }
}

async function readVideoForm(request: IncomingMessage, contentType: string): Promise<Readonly<JsonObject>> {
  const form = new FormMembers(videosApi.formFields);
  const reference = new Map<string, string>();
  const picture = new Picture();
  const parser = new FormParser(contentType, REFERENCE, {
    onField: (name, value) => {
      const member = REFERENCE_MEMBER.exec(name)?.[1];
      if (member === undefined) form.add(name, value);
      else if (reference.has(member)) throw refusal(`${REFERENCE}.${member}`, 'is given more than once');
      else reference.set(member, value);
    },
    onFile: () => picture.begin(),
    onFileData: (piece) => picture.add(piece),
  });
  await readForm(request, parser, MAX_VIDEO_BYTES);
  const url = picture.toDataUrl();
  if (url !== null && reference.size > 0) throw refusal(REFERENCE, 'is given more than once');
  if (url === null && reference.size === 0) return form.toBody();
  return { ...form.toBody(), [REFERENCE]: url === null ? Object.fromEntries(reference) : { image_url: url } };
}

/** The one file of a form. Its first bytes decide what it is, whatever the form says. */
class Picture {
  #gathered: GatheredPieces | null = null;

  begin(): void {
    if (this.#gathered !== null) throw refusal(REFERENCE, 'is given more than once');
    this.#gathered = new GatheredPieces();
  }

  add(piece: Buffer): void {
    const gathered = this.#gathered!;
    if (gathered.bytes + piece.length > LARGEST_MEDIUM_BYTES) {
      throw refusal(REFERENCE, `has more than ${LARGEST_MEDIUM_BYTES} bytes`, 'payload_too_large');
    }
    gathered.add(piece);
  }

  toDataUrl(): string | null {
    if (this.#gathered === null) return null;
    if (this.#gathered.bytes === 0) throw refusal(REFERENCE, 'is empty');
    return `data:;base64,${this.#gathered.take().toString('base64')}`;
  }
}

function hashOf(asked: Buffer | string): string {
  return createHash('sha256').update(asked).digest('hex');
}

function refusal(
  param: string,
  why: string,
  code: 'invalid_request' | 'payload_too_large' = 'invalid_request',
): AppError {
  return new AppError(code, `${param} ${why}`, { metadata: { param } });
}
