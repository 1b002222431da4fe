import type { MediaSource } from './conversation';

const BASE64_URL = /^data:([^;,]*)((?:;[^;,]*)*);base64,/i;

/** Reads a link, or the bytes of a data URL. Parameters of a data URL's media type are kept. */
export function readMediaUrl(url: string): Extract<MediaSource, { kind: 'url' | 'base64' }> {
  const head = BASE64_URL.exec(url.slice(0, 512));
  if (head === null) return { kind: 'url', url };
  return { kind: 'base64', mediaType: `${head[1]}${head[2]}` || null, data: url.slice(head[0].length) };
}

/**
 * Returns a media type by its registered name and without parameters, as upstreams expect it; undefined if there is
 * none.
 */
export function plainMediaType(mediaType: string | null): string | undefined {
  const plain = mediaType?.split(';', 1)[0]!.trim().toLowerCase();
  return plain === 'image/jpg' ? 'image/jpeg' : plain || undefined;
}

/**
 * Returns a source as a link or data URL; undefined if it has neither. `fallbackType` is used for bytes of unknown
 * type.
 */
export function writeMediaUrl(source: MediaSource, fallbackType: string): string | undefined {
  if (source.kind === 'url') return source.url;
  if (source.kind === 'base64') return `data:${source.mediaType ?? fallbackType};base64,${source.data}`;
  return undefined;
}
