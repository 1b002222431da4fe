import { textUnits, tokensOfUnits } from './text-tokens';

export type MediaKind = 'image' | 'audio' | 'video' | 'file';

interface MediaRate {
  readonly bytesPerToken: number;
  /** A few bytes can hold a large picture of one color, or a page of small print. */
  readonly leastTokens: number;
  readonly mostTokens: number;
  /** Behind a link, where the size is not known. */
  readonly linkedTokens: number;
}

/**
 * Rates on the dear side of what providers publish: pictures of up to 4,800 tokens (Claude; 1,600 for most), 32 tokens a
 * second of sound and 290 of film (Gemini), and a page of PDF as its text and a picture of it (Claude).
 */
const RATES: Readonly<Record<MediaKind, MediaRate>> = {
  image: { bytesPerToken: 250, leastTokens: 1_000, mostTokens: 4_800, linkedTokens: 1_600 },
  audio: { bytesPerToken: 125, leastTokens: 250, mostTokens: 1_000_000, linkedTokens: 2_000 },
  video: { bytesPerToken: 200, leastTokens: 2_000, mostTokens: 1_000_000, linkedTokens: 20_000 },
  file: { bytesPerToken: 8, leastTokens: 2_000, mostTokens: 250_000, linkedTokens: 10_000 },
};

/** Text in a file is decoded, and read like any other. */
const TEXT_BYTES_PER_TOKEN = 2.5;

/** Estimates tokens of media whose base64 text has this length. */
export function mediaTokens(kind: MediaKind, base64Length: number): number {
  const { bytesPerToken, leastTokens, mostTokens } = RATES[kind];
  const bytes = base64Length * 0.75;
  return Math.min(mostTokens, Math.max(leastTokens, Math.ceil(bytes / bytesPerToken)));
}

/** The longest head of a data URL that is looked at: `data:`, a media type with parameters, `;base64,`. */
const MOST_HEAD_BYTES = 256;
const COMMA = 0x2c;

/** What a string in a field for a link holds. */
export interface LinkedMedia {
  /** Null for text. */
  readonly kind: MediaKind | null;
  readonly tokens: number;
}

/** Estimates tokens of media whose size is not known. */
export function unsizedTokens(kind: MediaKind): number {
  return RATES[kind].linkedTokens;
}

/** Of the tokens of a film, those of its sound: 32 a second of 290. */
const SOUND_OF_FILM = 32 / 290;

/** Estimates how many tokens of media may be charged as sound. */
export function soundTokens(kind: MediaKind, tokens: number): number {
  if (kind === 'audio') return tokens;
  return kind === 'video' ? Math.ceil(tokens * SOUND_OF_FILM) : 0;
}

/**
 * Estimates the tokens of a string in a field that takes a link to media: a `data:` URL with `;base64,`, a link, or
 * anything else, which counts as text.
 */
export function linkedMedia(kind: MediaKind, bytes: Buffer, start: number, end: number): LinkedMedia {
  const head = bytes.toString('latin1', start, Math.min(end, start + MOST_HEAD_BYTES)).toLowerCase();
  if (/^https?:\\?\/\\?\//.test(head)) {
    return { kind, tokens: Math.max(unsizedTokens(kind), tokensOfUnits(textUnits(bytes, start, end))) };
  }
  const mediaType = /^data:([^,;]*)(?:;[^,;]*)*;base64,/.exec(head)?.[1];
  if (mediaType === undefined) return { kind: null, tokens: tokensOfUnits(textUnits(bytes, start, end)) };
  const length = end - start - head.indexOf(String.fromCharCode(COMMA)) - 1;
  if (isText(mediaType)) return { kind: null, tokens: Math.ceil((length * 0.75) / TEXT_BYTES_PER_TOKEN) };
  const declared = kindOfType(mediaType) ?? kind;
  return { kind: declared, tokens: mediaTokens(declared, length) };
}

/** The kind of media that a media type declares, or null where it declares none. */
export function kindOfType(mediaType: string): MediaKind | null {
  if (mediaType.includes('pdf')) return 'file';
  const [family] = mediaType.split('/', 1);
  return family === 'image' || family === 'audio' || family === 'video' ? family : null;
}

function isText(mediaType: string): boolean {
  return mediaType.startsWith('text/') || /\b(json|xml|yaml|csv|javascript)\b/.test(mediaType);
}
