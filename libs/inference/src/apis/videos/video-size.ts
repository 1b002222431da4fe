/** The shorter side in points. */
const SHORT_SIDES: Readonly<Record<string, number>> = {
  '360p': 360,
  '480p': 480,
  '720p': 720,
  '768p': 768,
  '1080p': 1_080,
  '1K': 1_024,
  '2K': 1_440,
  '4K': 2_160,
};
/**
 * Tolerance of an aspect ratio: sides are whole numbers and often multiples of 16, so a ratio cannot be met exactly.
 */
const NEARLY = 0.03;

export interface VideoSize {
  readonly width: number;
  readonly height: number;
}

/** Returns the width and height of a resolution at an aspect ratio such as `16:9`. */
export function sizeOf(resolution: string, aspectRatio: string): VideoSize {
  const short = SHORT_SIDES[resolution] ?? SHORT_SIDES['720p']!;
  const ratio = valueOf(aspectRatio);
  const long = Math.round((short * Math.max(ratio, 1 / ratio)) / 2) * 2;
  return ratio >= 1 ? { width: long, height: short } : { width: short, height: long };
}

/** Returns the name of a size's resolution, or null. */
export function resolutionOf({ width, height }: VideoSize): string | null {
  const short = Math.min(width, height);
  return Object.entries(SHORT_SIDES).find(([, side]) => side === short)?.[0] ?? null;
}

/** Whether a size has an aspect ratio. */
export function hasRatio({ width, height }: VideoSize, aspectRatio: string): boolean {
  return Math.abs(width / height / valueOf(aspectRatio) - 1) <= NEARLY;
}

function valueOf(aspectRatio: string): number {
  const [width = 16, height = 9] = aspectRatio.split(':').map(Number);
  return width / height;
}
