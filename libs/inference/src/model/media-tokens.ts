import type { Base64Bytes } from '../media/base64-bytes';
import { pictureSize } from '../media/picture-size';
import { playingTime } from '../media/playing-time';
import { MEDIA_LIMITS } from './media-limits';
import { plainMediaType } from './media-url';
import { pictureTokens, type PictureTokens } from './picture-tokens';
import { TextCounter, tokensOfUnits } from './text-tokens';

export type MediaKind = 'image' | 'audio' | 'video' | 'file';

/** The token count of one file in a prompt. */
export interface CountedMedia {
  /** Kind of media; null for text. */
  readonly kind: MediaKind | null;
  /** At least 0.6 of what any provider charges. */
  readonly tokens: number;
  /** The usual tokens of such a file; equals `tokens` if it was measured. */
  readonly usual: number;
  readonly pictures?: PictureTokens;
  /** True for a PDF file, which only `measurePdf` can measure. */
  readonly isPdf?: boolean;
  /** Whether it is not valid base64. */
  readonly isGarbage?: boolean;
}

interface UsualRate {
  readonly bytesPerToken: number;
  readonly leastTokens: number;
  readonly linkedTokens: number;
}

/** Usual tokens of files that cannot be measured, for checks that an unusually large file must not fail. */
const USUAL: Readonly<Record<MediaKind, UsualRate>> = {
  image: { bytesPerToken: 250, leastTokens: 1_000, linkedTokens: 1_600 },
  audio: { bytesPerToken: 125, leastTokens: 250, linkedTokens: 2_000 },
  video: { bytesPerToken: 200, leastTokens: 2_000, linkedTokens: 20_000 },
  file: { bytesPerToken: 8, leastTokens: 2_000, linkedTokens: 10_000 },
};
const MOST_USUAL = 250_000;
const MOST_USUAL_PICTURE = 4_800;

/** Counts media whose content is not known, only their kind: a link, or a file that a provider stores. */
export function unknownMedia(kind: MediaKind): CountedMedia {
  const usual = USUAL[kind].linkedTokens;
  if (kind !== 'image') return { kind, tokens: MEDIA_LIMITS.unknown, usual };
  const pictures = pictureTokens(null);
  return { kind, tokens: pictures.other, usual, pictures };
}

const PDF_HEAD = 1_024;
const PDF = '%PDF-';
/** First bytes of ZIP archives. Office documents are ZIP archives of compressed text. */
const ARCHIVE = 'PK\u0003\u0004';

/**
 * Counts media that a body contains as base64.
 * @param kind the kind that its field is for
 * @param mediaType its declared media type, or null
 */
export function inlineMedia(kind: MediaKind, mediaType: string | null, bytes: Base64Bytes): CountedMedia {
  const head = bytes.slice(0, PDF_HEAD).toString('latin1');
  if (head.includes(PDF)) return { ...unmeasured('file', bytes), isPdf: true };
  // Compared without parameters, because they do not change the type.
  const type = plainMediaType(mediaType);
  if (type !== undefined && isText(type) && !head.startsWith(ARCHIVE)) return textFile(bytes);
  const said = (type === undefined ? null : kindOfType(type)) ?? kind;
  return measured(said, bytes) ?? unmeasured(said, bytes);
}

function measured(kind: MediaKind, bytes: Base64Bytes): CountedMedia | null {
  if (kind === 'image') return picture(bytes);
  return kind === 'file' ? (picture(bytes) ?? played(bytes, null)) : played(bytes, kind);
}

function picture(bytes: Base64Bytes): CountedMedia | null {
  const size = pictureSize(bytes);
  if (size === null || !bytes.isSound) return null;
  const pictures = pictureTokens(size);
  return { kind: 'image', tokens: pictures.other, usual: Math.max(pictures.claude, USUAL.image.leastTokens), pictures };
}

/** Counts a recording or video, by its media type or else by its content. */
function played(bytes: Base64Bytes, said: 'audio' | 'video' | null): CountedMedia | null {
  const time = bytes.isPlain() ? playingTime(bytes) : null;
  if (time === null || !bytes.isSound) return null;
  const kind = said ?? (time.hasPictures ? 'video' : 'audio');
  const tokensOf = (seconds: number): number => Math.max(1, Math.ceil(seconds * TOKENS_PER_SECOND[kind]));
  return { kind, tokens: Math.min(MEDIA_LIMITS.unknown, tokensOf(time.longest)), usual: tokensOf(time.usual) };
}

const TOKENS_PER_SECOND = { audio: MEDIA_LIMITS.secondOfSound, video: MEDIA_LIMITS.secondOfFilm } as const;

/**
 * Counts media whose bytes do not limit how long they play: hours of silence or of a still picture need a few
 * kilobytes.
 */
function unmeasured(kind: MediaKind, bytes: Base64Bytes): CountedMedia {
  const isGarbage = !bytes.isPlain();
  const { bytesPerToken, leastTokens } = USUAL[kind];
  const bySize = Math.max(leastTokens, Math.ceil(bytes.length / bytesPerToken));
  const usual = Math.min(kind === 'image' ? MOST_USUAL_PICTURE : MOST_USUAL, bySize);
  return { ...unknownMedia(kind), usual, isGarbage };
}

const TEXT_PIECE = 48 * 1024;
const BACKSLASH = 0x5c;
const DOLLAR = 0x24;

/** Decodes a text file and counts it like any text. */
function textFile(bytes: Base64Bytes): CountedMedia {
  let units = 0;
  let mostUnits = 0;
  for (let at = 0; at < bytes.length; at += TEXT_PIECE) {
    const piece = Buffer.from(bytes.slice(at, at + TEXT_PIECE));
    // The file is not JSON: a backslash in it is an ordinary character and must not count as an escape.
    for (let i = piece.indexOf(BACKSLASH); i !== -1; i = piece.indexOf(BACKSLASH, i + 1)) piece[i] = DOLLAR;
    const counter = new TextCounter().add(piece, 0, piece.length);
    units += counter.units;
    mostUnits += counter.mostUnits;
  }
  if (!bytes.isSound) return { kind: null, tokens: bytes.length, usual: bytes.length };
  return { kind: null, tokens: tokensOfUnits(mostUnits), usual: tokensOfUnits(units) };
}

/** Estimates how many tokens of media may be charged as sound. */
export function soundTokens(kind: MediaKind, tokens: number): number {
  if (kind === 'audio') return tokens;
  return kind === 'video' ? Math.ceil((tokens * MEDIA_LIMITS.secondOfSound) / MEDIA_LIMITS.secondOfFilm) : 0;
}

/** Estimates the tokens of a PDF file by its text and the number of its pages. */
export function pdfTokens(textTokens: number, pages: number): number {
  return textTokens + pages * MEDIA_LIMITS.pageOfPdf;
}

/** Returns the kind of media that a media type declares, or null if it declares none. */
export function kindOfType(mediaType: string): MediaKind | null {
  const plain = mediaType.toLowerCase();
  if (plain.includes('pdf')) return 'file';
  const [family] = plain.split('/', 1);
  return family === 'image' || family === 'audio' || family === 'video' ? family : null;
}

/** @param type without parameters */
function isText(type: string): boolean {
  return type.startsWith('text/') || (kindOfType(type) === null && /\b(json|xml|yaml|csv|javascript)\b/.test(type));
}
