import { isUtf8 } from 'node:buffer';
import type { FilePart } from '../../model/conversation';

const TEXT_TYPE = /^(?:text\/|application\/(?:json|xml|yaml)\b)/i;
const TEXT_NAME = /\.(?:txt|md|csv|json|xml|ya?ml|html?)$/i;

/** Returns the content of a plain text file; null for other files and for links. */
export function textOfFile({ source, filename = '' }: FilePart): string | null {
  if (source.kind !== 'base64') return null;
  const isText = source.mediaType === null ? TEXT_NAME.test(filename) : TEXT_TYPE.test(source.mediaType);
  if (!isText) return null;
  const bytes = Buffer.from(source.data, 'base64');
  return isUtf8(bytes) ? bytes.toString() : null;
}

/** True if a picture was sent as a file. */
export function isPicture({ source }: FilePart): boolean {
  return source.kind === 'base64' && (source.mediaType?.startsWith('image/') ?? false);
}
