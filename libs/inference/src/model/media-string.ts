import type { MediaKind } from './media-tokens';

/** Content of a string in a media field: the media data, or a link or id with which a provider gets them. */
export type MediaString =
  | { readonly form: 'inline'; readonly mediaType: string | null; readonly start: number; readonly end: number }
  | { readonly form: 'link'; readonly kind: MediaKind };

/** Most bytes of a data URL's beginning that are read: `data:`, a media type with parameters, `;base64,`. */
const MOST_HEAD_BYTES = 256;
/** Most bytes of a link that are read: some providers derive the kind of media from its end. */
const MOST_LINK_BYTES = 4_096;
const COMMA = 0x2c;
const DATA_URL = /^\s*data:([^,;]*)(?:;[^,;]*)*;base64,/i;
const BASE64 = /^[A-Za-z0-9+/=]+$/;

/**
 * Kinds by file extension. Gemini gets a link as media of the kind that its extension names, whatever the type of its
 * part.
 */
const KINDS_BY_EXTENSION: readonly (readonly [MediaKind, RegExp])[] = [
  ['video', /^(mp4|mpeg|mpg|mov|webm|avi|flv|wmv|3gpp?|mkv)$/],
  ['audio', /^(mp3|wav|flac|ogg|oga|opus|aac|aiff?|m4a)$/],
  ['file', /^(pdf|txt|md|html?|csv|xml|json|docx?|xlsx?|pptx?)$/],
];

/**
 * Returns what the JSON string between two offsets holds: a data URL with base64 holds media; bare base64 does if
 * `mayBeBare`, because a provider may accept it; anything else is a link.
 */
export function readMediaString(
  bytes: Buffer,
  { kind, mayBeBare }: { readonly kind: MediaKind; readonly mayBeBare: boolean },
  [start, end]: readonly [number, number],
): MediaString {
  const head = plainText(bytes, start, Math.min(end, start + MOST_HEAD_BYTES));
  const mediaType = DATA_URL.exec(head)?.[1];
  const comma = mediaType === undefined ? -1 : bytes.indexOf(COMMA, start);
  if (comma !== -1 && comma < end) {
    return { form: 'inline', mediaType: mediaType === '' ? null : mediaType!, start: comma + 1, end };
  }
  if (mayBeBare && BASE64.test(head)) return { form: 'inline', mediaType: null, start, end };
  return {
    form: 'link',
    kind: dearer(kind, kindOfLink(plainText(bytes, start, Math.min(end, start + MOST_LINK_BYTES)))),
  };
}

/** Returns the more expensive of two kinds that a link may lead to. Sound has rates of its own. */
export function dearer(one: MediaKind, other: MediaKind | null): MediaKind {
  return other !== null && RANKS.indexOf(other) > RANKS.indexOf(one) ? other : one;
}

const RANKS: readonly MediaKind[] = ['image', 'file', 'video', 'audio'];

function kindOfLink(link: string): MediaKind | null {
  const extension = /\.([a-z0-9]{2,5})\s*$/i.exec(link.split(/[?#]/, 1)[0]!)?.[1]?.toLowerCase();
  if (extension === undefined) return null;
  return KINDS_BY_EXTENSION.find(([, extensions]) => extensions.test(extension))?.[0] ?? null;
}

/** Returns the decoded text of a part of a JSON string. A part that ends inside an escape is not decoded. */
function plainText(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('latin1', start, end);
  if (!text.includes('\\')) return text;
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return text.replaceAll('\\/', '/');
  }
}
