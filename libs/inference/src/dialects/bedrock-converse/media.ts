import type { MediaSource } from '../../model/conversation';
import { pictureTypeOf } from '../anthropic-messages/media';

/**
 * Bedrock's formats by media subtype (`png` of `image/png`), and by file extensions that differ from the format's name.
 */
const IMAGES: Readonly<Record<string, string>> = { png: 'png', jpeg: 'jpeg', jpg: 'jpeg', gif: 'gif', webp: 'webp' };

const VIDEOS: Readonly<Record<string, string>> = {
  mp4: 'mp4',
  quicktime: 'mov',
  mov: 'mov',
  'x-matroska': 'mkv',
  mkv: 'mkv',
  webm: 'webm',
  'x-flv': 'flv',
  flv: 'flv',
  mpeg: 'mpeg',
  mpg: 'mpg',
  'x-ms-wmv': 'wmv',
  wmv: 'wmv',
  '3gpp': 'three_gp',
  '3gp': 'three_gp',
};

const DOCUMENTS: Readonly<Record<string, string>> = {
  pdf: 'pdf',
  csv: 'csv',
  html: 'html',
  htm: 'html',
  plain: 'txt',
  txt: 'txt',
  json: 'txt',
  markdown: 'md',
  md: 'md',
  msword: 'doc',
  doc: 'doc',
  'vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  docx: 'docx',
  'vnd.ms-excel': 'xls',
  xls: 'xls',
  'vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  xlsx: 'xlsx',
};

/** The first characters of a PDF in base64. */
const PDF_START = 'JVBERi';

type Bytes = Extract<MediaSource, { kind: 'base64' }>;

/** Returns Bedrock's name of a picture's format; null if Bedrock does not accept it. */
export function imageFormat(source: Bytes): string | null {
  const mediaType = pictureTypeOf(source);
  return mediaType === undefined ? null : named(IMAGES, subtypeOf(mediaType));
}

export function videoFormat({ mediaType }: Bytes): string | null {
  return named(VIDEOS, mediaType === null ? 'mp4' : subtypeOf(mediaType));
}

/** Returns the format by media type, else by file extension, else by the first bytes. Other text is plain text. */
export function documentFormat({ mediaType, data }: Bytes, filename: string | undefined): string | null {
  const subtype = mediaType === null ? '' : subtypeOf(mediaType);
  const known = named(DOCUMENTS, subtype) ?? named(DOCUMENTS, endingOf(filename));
  if (known !== null) return known;
  if (mediaType === null) return data.startsWith(PDF_START) ? 'pdf' : null;
  return mediaType.startsWith('text/') ? 'txt' : null;
}

function endingOf(filename = ''): string {
  return /\.([a-z0-9]{1,8})$/i.exec(filename)?.[1]?.toLowerCase() ?? '';
}

function subtypeOf(mediaType: string): string {
  return mediaType.split(';')[0]!.split('/').at(-1)!.trim().toLowerCase();
}

function named(formats: Readonly<Record<string, string>>, name: string): string | null {
  return Object.hasOwn(formats, name) ? formats[name]! : null;
}
