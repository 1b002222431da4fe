import type { MediaSource } from '../../model/conversation';
import { readMediaUrl } from '../../model/media-url';

/** Reads the data of a file: a data URL, or bare base64 without a media type. */
export function sourceOfFileData(data: string): MediaSource {
  const source = readMediaUrl(data);
  return source.kind === 'base64' ? source : { kind: 'base64', mediaType: null, data };
}

/** Returns the link or data URL of a source; undefined if it has neither. */
export function urlOfSource(source: Exclude<MediaSource, { kind: 'file-id' }>): string {
  return source.kind === 'url' ? source.url : `data:${source.mediaType ?? ''};base64,${source.data}`;
}
