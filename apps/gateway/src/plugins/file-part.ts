import type { StreamableApi } from '@libs/inference';
import { fieldsOf, type Fields } from '../server-tools/named-tools';

/** A file in the content of a turn, in one of the ways that the APIs have to say it. */
export interface FilePart {
  readonly name: string | null;
  readonly source: FileSource;
}

export type FileSource =
  | { readonly kind: 'bytes'; readonly mediaType: string | null; readonly base64: string }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'url'; readonly url: string };

const DATA_URL = /^data:([^;,]*)(?:;[^;,]*)*;base64,/i;
const LONGEST_HEAD = 512;

/** Null for a part that is no file, and for a file that only its provider has. */
export function readFilePart(api: StreamableApi, part: Fields): FilePart | null {
  switch (api) {
    case 'chat':
      return part['type'] === 'file' ? fileOf(fieldsOf(part['file'])) : null;
    case 'responses':
      return part['type'] === 'input_file' ? fileOf(part) : null;
    case 'messages':
      return part['type'] === 'document' ? documentOf(part) : null;
  }
}

function fileOf({ filename, file_data: data, file_url: url }: Fields): FilePart | null {
  const place = typeof data === 'string' ? data : url;
  return typeof place === 'string' ? { name: textOrNull(filename), source: readPlace(place) } : null;
}

function readPlace(place: string): FileSource {
  if (/^https?:\/\//i.test(place)) return { kind: 'url', url: place };
  const head = DATA_URL.exec(place.slice(0, LONGEST_HEAD));
  // Some callers send the bytes without saying what they are.
  if (head === null) return { kind: 'bytes', mediaType: null, base64: place };
  return { kind: 'bytes', mediaType: head[1]?.toLowerCase() || null, base64: place.slice(head[0].length) };
}

function documentOf({ title, source }: Fields): FilePart | null {
  const { type, media_type: mediaType, data, url } = fieldsOf(source);
  const name = textOrNull(title);
  if (type === 'base64' && typeof data === 'string') {
    return { name, source: { kind: 'bytes', mediaType: textOrNull(mediaType), base64: data } };
  }
  if (type === 'text' && typeof data === 'string') return { name, source: { kind: 'text', text: data } };
  if (type === 'url' && typeof url === 'string') return { name, source: { kind: 'url', url } };
  return null;
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
