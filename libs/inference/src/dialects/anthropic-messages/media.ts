import { isUtf8 } from 'node:buffer';
import type { MediaSource } from '../../model/conversation';
import type { CheckedObject } from '../checked-object';
import { plainMediaType } from '../../model/media-url';

const TEXT_TYPE = 'text/plain';
const PDF_TYPE = 'application/pdf';

/** The first base64 characters of each picture format, to recognize pictures that come without a media type. */
const PICTURES: readonly (readonly [start: string, mediaType: string])[] = [
  ['/9j/', 'image/jpeg'],
  ['iVBORw0KGgo', 'image/png'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
];

/** Reads the `source` of an image or document block; null for a source of content blocks. */
export function readSource(source: CheckedObject): MediaSource | null {
  switch (source.requiredString('type')) {
    case 'url':
      return { kind: 'url', url: source.requiredString('url') };
    case 'file':
      return { kind: 'file-id', id: source.requiredString('file_id') };
    case 'base64': {
      const mediaType = source.string('media_type') ?? null;
      return { kind: 'base64', mediaType, data: source.requiredString('data') };
    }
    case 'text':
      return plainText(source.requiredString('data'));
    case 'content':
      return typeof source.value('content') === 'string' ? plainText(source.requiredString('content')) : null;
    default:
      throw source.refuse('type', 'is not known');
  }
}

function plainText(text: string): MediaSource {
  return { kind: 'base64', mediaType: TEXT_TYPE, data: Buffer.from(text).toString('base64') };
}

/** Returns the registered media type of a picture: the one given, or the one that its first bytes show. */
export function pictureTypeOf({ mediaType, data }: Extract<MediaSource, { kind: 'base64' }>): string | undefined {
  return plainMediaType(mediaType) ?? PICTURES.find(([start]) => data.startsWith(start))?.[1];
}

/** Returns the source of an image block; null if the media type of the picture cannot be found out. */
export function writeImageSource(source: MediaSource): object | null {
  if (source.kind !== 'base64') return writeRemote(source);
  const mediaType = pictureTypeOf(source);
  return mediaType === undefined ? null : { type: 'base64', media_type: mediaType, data: source.data };
}

/** Returns the source of a document block; null if the upstream does not accept this kind of file. */
export function writeDocumentSource(source: MediaSource, filename?: string): object | null {
  if (source.kind !== 'base64') return writeRemote(source);
  const mediaType = plainMediaType(source.mediaType) ?? (/\.(txt|md)$/i.test(filename ?? '') ? TEXT_TYPE : PDF_TYPE);
  if (mediaType === PDF_TYPE) return { type: 'base64', media_type: PDF_TYPE, data: source.data };
  if (!/^text\/|^application\/json\b/.test(mediaType)) return null;
  const bytes = Buffer.from(source.data, 'base64');
  return isUtf8(bytes) ? { type: 'text', media_type: TEXT_TYPE, data: bytes.toString() } : null;
}

function writeRemote(source: Exclude<MediaSource, { kind: 'base64' }>): object {
  return source.kind === 'url' ? { type: 'url', url: source.url } : { type: 'file', file_id: source.id };
}
