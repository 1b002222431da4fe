/** By the code of a rate (ISO 14496-3, 1.6.3.4). */
export const AAC_RATES: readonly number[] = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
];
const OWN_RATE = 15;
/** Descriptors within each other (ISO 14496-1, 7.2.6): of a stream, of its decoder, of what is specific to that. */
const STREAM_TAG = 3;
const DECODER_TAG = 4;
const SPECIFIC_TAG = 5;
const DECODER_BYTES = 13;
const GOES_ON = 0x80;

/** Kinds of MPEG-4 and MPEG-2 AAC among the streams of a decoder. */
const AAC_STREAMS: readonly number[] = [0x40, 0x66, 0x67, 0x68];
/** Kinds of audio with frames of 1,024 samples (ISO 14496-3, 1.5.1.1); of SBR and PS the rate of their AAC comes first. */
const AAC_KINDS: readonly number[] = [1, 2, 3, 4, 5, 29];

/** Returns the sample rate that the configuration of AAC in the entry of a track states; 0 where there is none. */
export function configuredRate(entry: Buffer): number {
  const box = entry.indexOf('esds');
  // Decoders may differ in which of several they read.
  if (box === -1 || entry.includes('esds', box + 1)) return 0;
  const stream = contentOf(entry, box + 8, STREAM_TAG);
  const decoder = stream && contentOf(entry, stream + 3 + optionBytes(entry, stream + 2), DECODER_TAG);
  if (!decoder || !AAC_STREAMS.includes(entry[decoder]!)) return 0;
  const specific = contentOf(entry, decoder + DECODER_BYTES, SPECIFIC_TAG);
  return specific === null ? 0 : rateAt(entry, specific);
}

/** Returns where the content of a descriptor begins, behind its tag and a size of up to four bytes. */
function contentOf(bytes: Buffer, at: number, tag: number): number | null {
  if (bytes[at] !== tag) return null;
  let last = at + 1;
  while (last < at + 4 && (bytes[last] ?? 0) >= GOES_ON) last += 1;
  return last + 1;
}

/** Of what the flags of a stream say that it has: another stream, a URL, a clock. */
function optionBytes(bytes: Buffer, at: number): number {
  const flags = bytes[at] ?? 0;
  const url = flags & 0x40 ? 1 + (bytes[at + 3 - (flags & 0x80 ? 0 : 2)] ?? 0) : 0;
  return (flags & 0x80 ? 2 : 0) + url + (flags & 0x20 ? 2 : 0);
}

/** Five bits name the kind of AAC, four the rate or that it follows in 24 bits. */
function rateAt(bytes: Buffer, at: number): number {
  if (at + 2 > bytes.length || !AAC_KINDS.includes(bytes[at]! >> 3)) return 0;
  const code = (bytes.readUInt16BE(at) >> 7) & 15;
  if (code !== OWN_RATE) return AAC_RATES[code] ?? 0;
  return at + 5 > bytes.length ? 0 : (bytes.readUInt32BE(at + 1) >>> 7) & 0xff_ffff;
}
