import type { MediaSource } from './conversation';

const BASE64_URL = /^data:([^;,]*)((?:;[^;,]*)*);base64,/i;

/** A link, or the bytes that a data URL holds. Parameters of a data URL's type stay with the type. */
export function readMediaUrl(url: string): Extract<MediaSource, { kind: 'url' | 'base64' }> {
  const head = BASE64_URL.exec(url.slice(0, 512));
  if (head === null) return { kind: 'url', url };
  return { kind: 'base64', mediaType: `${head[1]}${head[2]}` || null, data: url.slice(head[0].length) };
}

/** A media type without its parameters and by its registered name, as upstreams look it up; undefined for none. */
export function plainMediaType(mediaType: string | null): string | undefined {
  const plain = mediaType?.split(';', 1)[0]!.trim().toLowerCase();
  return plain === 'image/jpg' ? 'image/jpeg' : plain || undefined;
}

/** The same, written; undefined for what has no URL. `fallbackType` is for bytes of unknown type. */
export function writeMediaUrl(source: MediaSource, fallbackType: string): string | undefined {
  if (source.kind === 'url') return source.url;
  if (source.kind === 'base64') return `data:${source.mediaType ?? fallbackType};base64,${source.data}`;
  return undefined;
}
