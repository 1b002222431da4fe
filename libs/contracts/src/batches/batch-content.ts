/** Kinds of content that a batch line cannot carry: lines are text only (interface §4.1). */
export const PARTS_BEYOND_TEXT: ReadonlySet<string> = new Set([
  'image',
  'image_url',
  'input_image',
  'input_audio',
  'audio',
  'video',
  'video_url',
  'input_video',
  'file',
  'input_file',
  'document',
]);

/** Whether a message holds pictures or sound that the model made, which stand beside its content. */
export function hasMediaBesideContent({
  images,
  audio,
}: {
  readonly images?: unknown;
  readonly audio?: unknown;
}): boolean {
  return (Array.isArray(images) && images.length > 0) || (audio !== undefined && audio !== null);
}
