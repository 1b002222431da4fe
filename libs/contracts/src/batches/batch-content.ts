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
