import type { FrameImage, InputReference, VideoDto } from '@libs/contracts';
import { AppError, type ErrorCode } from '@libs/errors';
import type { VideoMedia } from '@libs/inference';
import type { Egress, EgressResponse } from '@libs/platform';
import { bytesForMedium, countFetched, type Reserve, type CallMemory } from '../http/fetched-bytes';
import { readImageHeader } from './image-header';
import { mediaTypeOf } from './media-kind';

const MEBIBYTE = 1024 * 1024;
/** Most bytes of one picture, sound or video. */
export const LARGEST_MEDIUM_BYTES = 20 * MEBIBYTE;
const LARGEST_SUM_BYTES = 30 * MEBIBYTE;
const SMALLEST_SIDE = 64;
const LARGEST_SIDE = 8_192;
const DOWNLOAD_MS = 20_000;
const MOST_REDIRECTS = 3;
const DATA_URL = /^data:[\w.+-]*\/?[\w.+-]*(?:;[\w.+=-]+)*;base64,/i;
const LONGEST_HEAD = 256;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** The media that a request supplies for its video. */
export interface RequestMedia {
  readonly firstFrame: VideoMedia | null;
  readonly lastFrame: VideoMedia | null;
  readonly references: readonly VideoMedia[];
}

const NONE: RequestMedia = { firstFrame: null, lastFrame: null, references: [] };

/**
 * Reads the pictures, sounds and videos of a request: from the request itself, or downloaded from its links. Their
 * first bytes decide what they are. From then on they are stored with the job, so that no provider is sent to a URL
 * that a caller chose.
 */
export class MediaReader {
  constructor(private readonly egress: Egress) {}

  /** @throws AppError 400 or 413 with the name of the field; provider_overloaded if there is no memory */
  async read(dto: VideoDto, memory: CallMemory): Promise<RequestMedia> {
    const { frame_images: frames, input_references: references } = dto;
    if (!frames?.length && !references?.length) return NONE;
    const budget = { bytes: LARGEST_SUM_BYTES, memory };
    // Frames determine the content of the video, so references are ignored if both are given.
    if (frames?.length) return { ...NONE, ...(await this.#readFrames(frames, budget)) };
    const read: VideoMedia[] = [];
    for (const [index, reference] of references!.entries()) {
      read.push(await this.#readReference(reference, `input_references[${index}]`, budget));
    }
    return { ...NONE, references: read };
  }

  async #readFrames(frames: readonly FrameImage[], budget: Budget): Promise<Partial<RequestMedia>> {
    const read: { firstFrame?: VideoMedia; lastFrame?: VideoMedia } = {};
    for (const [index, { frame_type: kind, image_url: link }] of frames.entries()) {
      const param = `frame_images[${index}].image_url.url`;
      const bytes = await this.#bytesOf(link.url, param, 'image', budget);
      read[kind === 'first_frame' ? 'firstFrame' : 'lastFrame'] = pictureOf(bytes, param);
    }
    return read;
  }

  async #readReference(reference: InputReference, place: string, budget: Budget): Promise<VideoMedia> {
    const { type } = reference;
    const param = `${place}.${type}.url`;
    const kind = type === 'image_url' ? 'image' : type === 'audio_url' ? 'audio' : 'video';
    const bytes = await this.#bytesOf(reference[type]!.url, param, kind, budget);
    if (kind === 'image') return pictureOf(bytes, param);
    const mediaType = mediaTypeOf(kind, bytes);
    if (mediaType === null) throw refusal('invalid_request', param, `is no ${kind} of a known kind`);
    return { kind, mediaType, data: bytes.toString('base64') };
  }

  async #bytesOf(url: string, param: string, kind: VideoMedia['kind'], budget: Budget): Promise<Buffer> {
    const bytes = /^data:/i.test(url) ? inlineBytes(url, param, kind) : await this.#download(url, param, kind, budget);
    if (bytes.length > LARGEST_MEDIUM_BYTES) {
      throw refusal('payload_too_large', param, `has more than ${LARGEST_MEDIUM_BYTES} bytes`);
    }
    budget.bytes -= bytes.length;
    if (budget.bytes >= 0) return bytes;
    throw refusal('payload_too_large', param, `makes more than ${LARGEST_SUM_BYTES} bytes of media in all`);
  }

  async #download(url: string, param: string, kind: VideoMedia['kind'], { memory }: Budget): Promise<Buffer> {
    const failed: ErrorCode = kind === 'image' ? 'image_download_failed' : 'invalid_request';
    this.egress.check(url, param);
    let status: number;
    try {
      const answer = await countFetched(
        memory,
        (reserve) => this.#fetch(url, param, { holder: memory.holder, reserve }),
        ({ body }) => bytesForMedium(body.length),
      );
      if (answer.status === 200) return answer.body;
      ({ status } = answer);
    } catch (thrown) {
      const error = AppError.from(thrown);
      if (error.code === 'provider_overloaded') throw error;
      if (error.code === 'invalid_request' || error.code === 'payload_too_large') {
        throw new AppError(error.code, error.message, { cause: thrown, metadata: { param } });
      }
      throw refusal(failed, param, 'cannot be fetched');
    }
    const code = kind === 'image' && status === 404 ? 'image_not_found' : failed;
    throw refusal(code, param, 'cannot be fetched: its host does not give it');
  }

  #fetch(
    url: string,
    subject: string,
    call: { readonly holder: string; readonly reserve: Reserve },
  ): Promise<EgressResponse> {
    const bounds = { maxBytes: LARGEST_MEDIUM_BYTES, timeoutMs: DOWNLOAD_MS, maxRedirects: MOST_REDIRECTS };
    return this.egress.fetch(url, { subject, ...bounds, ...call });
  }
}

interface Budget {
  bytes: number;
  /** Memory of the submission. */
  readonly memory: CallMemory;
}

function inlineBytes(url: string, param: string, kind: VideoMedia['kind']): Buffer {
  const code: ErrorCode = kind === 'image' ? 'invalid_image' : 'invalid_request';
  const head = DATA_URL.exec(url.slice(0, LONGEST_HEAD))?.[0];
  if (head === undefined) throw refusal(code, param, 'must be a data URL in base64');
  if ((url.length - head.length) * 0.75 > LARGEST_MEDIUM_BYTES + 2) {
    throw refusal('payload_too_large', param, `has more than ${LARGEST_MEDIUM_BYTES} bytes`);
  }
  const data = url.slice(head.length);
  const isWhole = data.length > 0 && data.length % 4 === 0 && BASE64.test(data);
  if (!isWhole) throw refusal(code, param, 'must be a data URL of whole base64');
  return Buffer.from(data, 'base64');
}

function pictureOf(bytes: Buffer, param: string): VideoMedia {
  const header = readImageHeader(bytes);
  if (header === null) throw refusal('unsupported_image_format', param, 'is no PNG, JPEG or WebP');
  const { mediaType, width, height } = header;
  if (width === 0 || height === 0) throw refusal('invalid_image', param, 'has a broken header');
  if (Math.min(width, height) < SMALLEST_SIDE) {
    throw refusal('image_too_small', param, `has a side of less than ${SMALLEST_SIDE} points`);
  }
  if (Math.max(width, height) > LARGEST_SIDE) {
    throw refusal('image_too_large', param, `has a side of more than ${LARGEST_SIDE} points`);
  }
  return { kind: 'image', mediaType, data: bytes.toString('base64') };
}

function refusal(code: ErrorCode, param: string, why: string): AppError {
  return new AppError(code, `${param} ${why}`, { metadata: { param } });
}
