import type { MediaBytes } from './media-bytes';

/** Formats of `input_audio.format`; pcm is headerless: signed 16 bit, little-endian, mono, 16 kHz. */
export const AUDIO_FORMATS = ['wav', 'mp3', 'flac', 'm4a', 'ogg', 'webm', 'aac', 'pcm'] as const;
export type AudioFormat = (typeof AUDIO_FORMATS)[number];

export const PCM_SAMPLE_RATE = 16_000;
export const PCM_SAMPLE_BYTES = 2;

/** Other names of these formats, as file extensions or as media subtypes. */
const FORMATS_BY_NAME: Readonly<Record<string, AudioFormat>> = {
  wave: 'wav',
  mpga: 'mp3',
  mpeg: 'mp3',
  mp4: 'm4a',
  oga: 'ogg',
  opus: 'ogg',
};
const FORMATS_BY_MEDIA_TYPE: Readonly<Record<string, AudioFormat>> = {
  'audio/wav': 'wav',
  'audio/x-wav': 'wav',
  'audio/wave': 'wav',
  'audio/vnd.wave': 'wav',
  'audio/mpeg': 'mp3',
  'audio/mp3': 'mp3',
  'audio/flac': 'flac',
  'audio/x-flac': 'flac',
  'audio/mp4': 'm4a',
  'audio/m4a': 'm4a',
  'audio/x-m4a': 'm4a',
  'video/mp4': 'm4a',
  'audio/ogg': 'ogg',
  'audio/opus': 'ogg',
  'application/ogg': 'ogg',
  'audio/webm': 'webm',
  'video/webm': 'webm',
  'audio/aac': 'aac',
  'audio/aacp': 'aac',
  'audio/x-aac': 'aac',
  'audio/pcm': 'pcm',
  'audio/l16': 'pcm',
};
const MEDIA_TYPES: Readonly<Record<AudioFormat, string>> = {
  wav: 'audio/wav',
  mp3: 'audio/mpeg',
  flac: 'audio/flac',
  m4a: 'audio/mp4',
  ogg: 'audio/ogg',
  webm: 'audio/webm',
  aac: 'audio/aac',
  pcm: 'audio/pcm',
};

/** Returns the audio format with this name, in upper or lower case; null if there is none. */
export function audioFormatNamed(name: string): AudioFormat | null {
  const lower = name.toLowerCase();
  const format = AUDIO_FORMATS.find((known) => known === lower);
  return format ?? (Object.hasOwn(FORMATS_BY_NAME, lower) ? FORMATS_BY_NAME[lower]! : null);
}

/** Returns the format that a file name's extension names; null for an unknown one. */
export function audioFormatOfFile(filename: string): AudioFormat | null {
  const dot = filename.lastIndexOf('.');
  return dot === -1 ? null : audioFormatNamed(filename.slice(dot + 1));
}

/** Returns the audio format of a media type, ignoring its parameters. */
export function audioFormatOfMediaType(mediaType: string): AudioFormat | null {
  const plain = mediaType.split(';', 1)[0]!.trim().toLowerCase();
  return Object.hasOwn(FORMATS_BY_MEDIA_TYPE, plain) ? FORMATS_BY_MEDIA_TYPE[plain]! : null;
}

export function mediaTypeOf(format: AudioFormat): string {
  return MEDIA_TYPES[format];
}

const HEAD_BYTES = 16;

/** The first bytes of recordings by format. PCM has no fixed beginning. */
const BEGINNINGS: Readonly<Record<AudioFormat, (head: Buffer) => boolean>> = {
  wav: (head) => startsWith(head, 'RIFF', 0) && startsWith(head, 'WAVE', 8),
  mp3: (head) => startsWith(head, 'ID3', 0) || (isFrameSync(head) && layerBits(head) !== 0),
  flac: (head) => startsWith(head, 'fLaC', 0) || startsWith(head, 'ID3', 0),
  m4a: (head) => startsWith(head, 'ftyp', 4),
  ogg: (head) => startsWith(head, 'OggS', 0),
  webm: (head) => head.length >= 4 && head.readUInt32BE(0) === EBML,
  aac: (head) => /^(?:ID3|ADIF)/.test(head.toString('latin1')) || (isFrameSync(head) && layerBits(head) === 0),
  pcm: (head) => head.length >= PCM_SAMPLE_BYTES,
};
const EBML = 0x1a45dfa3;

/** Whether bytes begin like a recording in this format. */
export function looksLike(format: AudioFormat, audio: MediaBytes): boolean {
  return BEGINNINGS[format](audio.slice(0, HEAD_BYTES));
}

function layerBits(head: Buffer): number {
  return head[1]! & 0x06;
}

function startsWith(head: Buffer, text: string, offset: number): boolean {
  return head.toString('latin1', offset, offset + text.length) === text;
}

/**
 * Returns whether two bytes begin a frame of MPEG audio: eleven set bits. The layer bits, which are zero in AAC,
 * follow.
 */
function isFrameSync(head: Buffer): boolean {
  return head.length >= 4 && head[0] === 0xff && (head[1]! & 0xe0) === 0xe0;
}
