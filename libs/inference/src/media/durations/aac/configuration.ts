import { boxesIn, countOf, onlyBox } from '../boxes';

/** Sample rates by their code (ISO 14496-3, 1.6.3.4). */
export const AAC_RATES: readonly number[] = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
];
/** Tags of nested descriptors (ISO 14496-1, 7.2.6): of a stream, of its decoder, and of decoder-specific data. */
const STREAM_TAG = 3;
const DECODER_TAG = 4;
const SPECIFIC_TAG = 5;
const DECODER_BYTES = 13;
const GOES_ON = 0x80;

/** Object types of MPEG-4 and MPEG-2 AAC in the descriptor of a decoder. */
const AAC_STREAMS: readonly number[] = [0x40, 0x66, 0x67, 0x68];
const MP3_STREAMS: readonly number[] = [0x69, 0x6b];
/**
 * Audio object types with frames of 1,024 samples (ISO 14496-3, 1.5.1.1). For SBR and PS, the sample rate of the inner
 * AAC comes first.
 */
const AAC_KINDS: readonly number[] = [1, 2, 3, 4, 5, 29];

/** The codec of an `mp4a` track; null for any other codec, or if there are several configurations. */
export type Mp4Codec = { readonly kind: 'aac'; readonly rateCode: number } | { readonly kind: 'mp3' };

export function codecOfMp4a(entry: Buffer): Mp4Codec | null {
  const box = configurationIn(entry);
  if (box === null) return null;
  const stream = contentOf(entry, box + 4, STREAM_TAG);
  const decoder = stream && contentOf(entry, stream + 3 + optionBytes(entry, stream + 2), DECODER_TAG);
  if (!decoder) return null;
  if (MP3_STREAMS.includes(entry[decoder]!)) return { kind: 'mp3' };
  const specific = contentOf(entry, decoder + DECODER_BYTES, SPECIFIC_TAG);
  const rateCode = AAC_STREAMS.includes(entry[decoder]!) && specific !== null ? rateCodeAt(entry, specific) : null;
  return rateCode === null ? null : { kind: 'aac', rateCode };
}

/** Names of boxes in which decoders look for a configuration. */
const CONFIGURATIONS: readonly string[] = ['esds', 'glbl', 'dfLa', 'alac', 'dOps', 'dac3', 'dec3'];
/** Bytes of a sound entry before its boxes, by version (ISO 14496-12 §12.2.3, and QuickTime's). */
const FIELD_BYTES: readonly number[] = [36, 52, 72];

/**
 * Returns whether decoders may take an entry for one of a codec that it does not name.
 * @param own its own configuration box
 */
export function hasOtherConfiguration(entry: Buffer, own: string): boolean {
  return CONFIGURATIONS.some((name) => name !== own && entry.includes(name)) || countOf(entry, own) > 1;
}

/** Returns the offset of the only configuration of an entry; null if decoders may find another one. */
function configurationIn(entry: Buffer): number | null {
  const start = FIELD_BYTES[entry.readUInt16BE(16)];
  if (hasOtherConfiguration(entry, 'esds') || start === undefined) return null;
  const boxes = entry.subarray(start);
  // QuickTime stores the configuration inside this box.
  const wave = onlyBox(boxesIn(boxes), 'wave');
  const box =
    wave === null ? onlyBox(boxesIn(boxes), 'esds') : onlyBox(boxesIn(boxes.subarray(wave.start, wave.end)), 'esds');
  return box && start + (wave?.start ?? 0) + box.start;
}

/** Returns the offset of a descriptor's content, after its tag and a size of up to four bytes. */
function contentOf(bytes: Buffer, at: number, tag: number): number | null {
  if (bytes[at] !== tag) return null;
  let last = at + 1;
  while (last < at + 4 && (bytes[last] ?? 0) >= GOES_ON) last += 1;
  return last + 1;
}

/** Returns the bytes of the optional fields that the flags of a stream announce: another stream, a URL, a clock. */
function optionBytes(bytes: Buffer, at: number): number {
  const flags = bytes[at] ?? 0;
  const url = flags & 0x40 ? 1 + (bytes[at + 3 - (flags & 0x80 ? 0 : 2)] ?? 0) : 0;
  return (flags & 0x80 ? 2 : 0) + url + (flags & 0x20 ? 2 : 0);
}

/**
 * Returns the sample rate code of an AAC configuration (`AudioSpecificConfig`): five bits are the object type, four the
 * rate. Null for rates without a code, and for frames of another length.
 */
export function rateCodeAt(bytes: Buffer, at: number): number | null {
  if (at + 2 > bytes.length || !AAC_KINDS.includes(bytes[at]! >> 3)) return null;
  const code = (bytes.readUInt16BE(at) >> 7) & 15;
  return code < AAC_RATES.length ? code : null;
}
