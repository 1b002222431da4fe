import type { PictureSize } from '../media/picture-size';
import { PICTURE_LIMITS, type PictureFamily } from './media-limits';

/** The tokens of a picture by the family of the model. `other` is the most of all but GPT-4o mini. */
export type PictureTokens = Record<PictureFamily, number>;

export const PICTURE_FAMILIES = Object.keys(PICTURE_LIMITS) as readonly PictureFamily[];

/** Gemini 3 charges the same for a picture of any size, unless a lower resolution is requested. */
const GEMINI_3 = 1_120;
/** OpenAI enlarges small pictures to 16 × 16 patches if little detail is requested. */
const LEAST_PATCHES = 256;
/** Most patches that OpenAI's small models process; they count up to 2.46 tokens for each. */
const PATCHES_OF_SMALL = 1_536;
const TOKENS_OF_SMALL = 2.46;
const TOKENS_OF_PATCH = 1.2;

/**
 * Returns the most that a picture is charged, by the formulas that providers publish: Anthropic "Vision", Google "Token
 * counting" and "Media resolution", OpenAI "Images and vision". Null for a picture of unknown size.
 */
export function pictureTokens(size: PictureSize | null): PictureTokens {
  if (size === null) return { ...PICTURE_LIMITS };
  const claude = Math.min(PICTURE_LIMITS.claude, claudeTokens(size));
  const gemini = Math.min(PICTURE_LIMITS.gemini, Math.max(GEMINI_3, geminiTiles(size) * 258));
  const tiles = openaiTiles(size);
  const other = Math.min(PICTURE_LIMITS.other, Math.max(claude, gemini, 85 + 170 * tiles, patchTokens(size)));
  return { claude, gemini, gpt4oMini: 2_833 + 5_667 * tiles, other };
}

/** Returns the family of a model from the provider's name for it. */
export function pictureFamilyOf(upstreamModel: string): PictureFamily {
  if (/claude/i.test(upstreamModel)) return 'claude';
  if (/gemini/i.test(upstreamModel)) return 'gemini';
  return /gpt-4o-mini/i.test(upstreamModel) ? 'gpt4oMini' : 'other';
}

function patchesOf({ width, height }: PictureSize, edge: number): number {
  return Math.ceil(width / edge) * Math.ceil(height / edge);
}

/** By Anthropic's manual: patches of 28 pixels, or the area divided by 750. */
function claudeTokens(size: PictureSize): number {
  return Math.max(patchesOf(size, 28), Math.ceil((size.width * size.height) / 750));
}

/** Tiles of 256 to 768 pixels, depending on the shorter edge, of a picture of at most 3,072 pixels. */
function geminiTiles(size: PictureSize): number {
  const { width, height } = within(size, 3_072);
  if (Math.max(width, height) <= 384) return 1;
  const tile = Math.min(768, Math.max(256, Math.floor(Math.min(width, height) / 1.5)));
  return Math.max(patchesOf({ width, height }, tile), patchesOf({ width, height }, 768));
}

/** Tiles of 512 pixels of a picture scaled to within 2,048, whose shorter edge is at most 768. */
function openaiTiles(size: PictureSize): number {
  const fitted = within(size, 2_048);
  const scale = Math.min(1, 768 / Math.min(fitted.width, fitted.height));
  return patchesOf({ width: fitted.width * scale, height: fitted.height * scale }, 512);
}

function patchTokens(size: PictureSize): number {
  const patches = Math.max(LEAST_PATCHES, patchesOf(size, 32));
  return Math.ceil(Math.max(patches * TOKENS_OF_PATCH, Math.min(patches, PATCHES_OF_SMALL) * TOKENS_OF_SMALL));
}

function within({ width, height }: PictureSize, edge: number): PictureSize {
  const scale = Math.min(1, edge / Math.max(width, height));
  return { width: width * scale, height: height * scale };
}
