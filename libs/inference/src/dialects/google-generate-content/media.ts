import { defined } from '@libs/json';
import type { MediaSource } from '../../model/conversation';
import type { Endpoint } from '../../catalogue/catalogue';
import { plainMediaType } from '../../model/media-url';

/** A part of a content on the wire. */
export interface WirePart {
  readonly [member: string]: unknown;
}

export type MediaKind = 'image' | 'file' | 'audio' | 'video';

/** Media types to assume for bytes and links of unknown type. */
const LIKELY_TYPE: Readonly<Record<MediaKind, string>> = {
  image: 'image/jpeg',
  file: 'application/pdf',
  audio: 'audio/wav',
  video: 'video/mp4',
};

const TYPE_BY_EXTENSION: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  heic: 'image/heic',
  heif: 'image/heif',
  pdf: 'application/pdf',
  txt: 'text/plain',
  md: 'text/markdown',
  html: 'text/html',
  csv: 'text/csv',
  xml: 'text/xml',
  json: 'application/json',
  mp3: 'audio/mp3',
  wav: 'audio/wav',
  flac: 'audio/flac',
  ogg: 'audio/ogg',
  aac: 'audio/aac',
  aiff: 'audio/aiff',
  m4a: 'audio/m4a',
  mp4: 'video/mp4',
  mpeg: 'video/mpeg',
  mov: 'video/mov',
  webm: 'video/webm',
};

/** The first characters of pictures in base64. */
const PICTURES: readonly (readonly [start: string, mediaType: string])[] = [
  ['/9j/', 'image/jpeg'],
  ['iVBORw0KGgo', 'image/png'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
];

/**
 * Returns media as a part: bytes inline, links as URLs, which the upstream fetches itself. Null for an id of a file at
 * another provider.
 */
export function writeMedia(
  source: MediaSource,
  kind: MediaKind,
  { provider }: Endpoint,
  filename?: string,
): WirePart | null {
  if (source.kind === 'base64') {
    const named = filename === undefined ? undefined : typeByExtension(filename);
    const mimeType = plainMediaType(source.mediaType) ?? pictureType(source.data) ?? named ?? LIKELY_TYPE[kind];
    return { inlineData: { mimeType, data: source.data } };
  }
  if (source.kind === 'url') return fileData(source.url, typeByExtension(pathOf(source.url)) ?? LIKELY_TYPE[kind]);
  if (/^(?:https|gs):\/\//.test(source.id)) return fileData(source.id, typeByExtension(source.id));
  return source.id.startsWith('files/') ? fileData(`${provider.baseUrl.replace(/\/$/, '')}/${source.id}`) : null;
}

/** Returns sound as a part; the request states only the name of its format, not its media type. */
export function writeAudio(data: string, format: string): WirePart {
  return { inlineData: { mimeType: TYPE_BY_EXTENSION[format] ?? `audio/${format}`, data } };
}

function fileData(fileUri: string, mimeType?: string): WirePart {
  return { fileData: defined({ mimeType, fileUri }) };
}

function pictureType(data: string): string | undefined {
  return PICTURES.find(([start]) => data.startsWith(start))?.[1];
}

function pathOf(url: string): string {
  return url.split(/[?#]/, 1)[0]!;
}

function typeByExtension(name: string): string | undefined {
  const extension = /\.([a-z0-9]{2,5})$/i.exec(name)?.[1]?.toLowerCase();
  return extension !== undefined && Object.hasOwn(TYPE_BY_EXTENSION, extension)
    ? TYPE_BY_EXTENSION[extension]
    : undefined;
}
