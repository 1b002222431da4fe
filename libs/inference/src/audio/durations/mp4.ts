import type { AudioBytes } from '../audio-bytes';

/** Boxes of one level that are looked at. */
const MOST_BOXES = 1_000;

interface Box {
  readonly start: number;
  readonly end: number;
}

/** The length of an MP4 file in seconds, as its movie header says (ISO 14496-12 §8.2.2); null where it does not. */
export function mp4Seconds(audio: AudioBytes): number | null {
  const movie = findBox(audio, 'moov', { start: 0, end: audio.length });
  const header = movie && findBox(audio, 'mvhd', movie);
  if (!header) return null;
  const fields = audio.slice(header.start, header.start + 32);
  const isLong = fields[0] === 1;
  if (fields.length < (isLong ? 32 : 20)) return null;
  const timescale = fields.readUInt32BE(isLong ? 20 : 12);
  const duration = isLong ? Number(fields.readBigUInt64BE(24)) : fields.readUInt32BE(16);
  return timescale === 0 || duration === 0 || duration >= 0xffff_ffff ? null : duration / timescale;
}

/** What a box of this kind holds. */
function findBox(audio: AudioBytes, kind: string, within: Box): Box | null {
  let position = within.start;
  for (let count = 0; count < MOST_BOXES && position + 8 <= within.end; count += 1) {
    const head = audio.slice(position, position + 16);
    const { headBytes, bytes } = sizeOf(head, within.end - position);
    const end = position + bytes;
    if (bytes < headBytes || end > within.end) return null;
    if (head.toString('latin1', 4, 8) === kind) return { start: position + headBytes, end };
    position = end;
  }
  return null;
}

/** Of a box with its head; one that says nothing goes on to the end. */
function sizeOf(head: Buffer, left: number): { readonly headBytes: number; readonly bytes: number } {
  const size = head.length < 8 ? -1 : head.readUInt32BE(0);
  if (size === 1) return { headBytes: 16, bytes: head.length < 16 ? -1 : Number(head.readBigUInt64BE(8)) };
  return { headBytes: 8, bytes: size === 0 ? left : size };
}
