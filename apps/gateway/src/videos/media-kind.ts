interface Magic {
  readonly mediaType: string;
  readonly at: number;
  readonly bytes: string;
}

const SOUNDS: readonly Magic[] = [
  { mediaType: 'audio/wav', at: 8, bytes: 'WAVE' },
  { mediaType: 'audio/mpeg', at: 0, bytes: 'ID3' },
  { mediaType: 'audio/mpeg', at: 0, bytes: '\xff\xfb' },
  { mediaType: 'audio/mpeg', at: 0, bytes: '\xff\xf3' },
  { mediaType: 'audio/ogg', at: 0, bytes: 'OggS' },
  { mediaType: 'audio/flac', at: 0, bytes: 'fLaC' },
  { mediaType: 'audio/mp4', at: 4, bytes: 'ftypM4A' },
];

const FILMS: readonly Magic[] = [
  { mediaType: 'video/mp4', at: 4, bytes: 'ftyp' },
  { mediaType: 'video/webm', at: 0, bytes: '\x1a\x45\xdf\xa3' },
];

/** Returns the media type of sound or video from its first bytes; null for anything else. */
export function mediaTypeOf(kind: 'audio' | 'video', bytes: Buffer): string | null {
  const magics = kind === 'audio' ? SOUNDS : FILMS;
  const fits = ({ at, bytes: magic }: Magic): boolean => bytes.toString('latin1', at, at + magic.length) === magic;
  return magics.find(fits)?.mediaType ?? null;
}
