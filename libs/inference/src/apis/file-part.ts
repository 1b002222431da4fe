import { objectOf, stringOf, type JsonObject } from '@libs/json';

/** A file in the content of a turn. */
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

/** Reads a file as OpenAI's APIs name it: a data URL, plain base64 or a link. */
export function openAiFile({ filename, file_data: data, file_url: url }: JsonObject): FilePart | null {
  const place = typeof data === 'string' ? data : url;
  return typeof place === 'string' ? { name: textOrNull(filename), source: readPlace(place) } : null;
}

function readPlace(place: string): FileSource {
  if (/^https?:\/\//i.test(place)) return { kind: 'url', url: place };
  const head = DATA_URL.exec(place.slice(0, LONGEST_HEAD));
  // Some callers send the bytes without a media type.
  if (head === null) return { kind: 'bytes', mediaType: null, base64: place };
  return { kind: 'bytes', mediaType: head[1]?.toLowerCase() || null, base64: place.slice(head[0].length) };
}

/** Reads a document of the Messages API. */
export function messagesDocument({ title, source }: JsonObject): FilePart | null {
  const { type, media_type: mediaType, data, url } = objectOf(source);
  const name = textOrNull(title);
  if (type === 'base64' && typeof data === 'string') {
    return { name, source: { kind: 'bytes', mediaType: textOrNull(mediaType), base64: data } };
  }
  if (type === 'text' && typeof data === 'string') return { name, source: { kind: 'text', text: data } };
  if (type === 'url' && typeof url === 'string') return { name, source: { kind: 'url', url } };
  return null;
}

function textOrNull(value: unknown): string | null {
  return stringOf(value) || null;
}
