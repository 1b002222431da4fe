import { OPUS_RATE, opusSamples } from './opus';
import { hasUsualModes, vorbisBlocks, vorbisSamples } from './vorbis';

/** The encoding of an Ogg stream's sound, as its first packet states it. */
export interface OggCodec {
  readonly sampleRate: number;
  /** Samples before the first that is heard. */
  readonly skipped: number;
  /** Returns the number of samples of the packet that begins at an offset. */
  samplesOf(bytes: Buffer, at: number): number;
  /** Processes the part of a packet that is in the page on which the packet ends. */
  endPacket?(page: Buffer, start: number, end: number): void;
}

/**
 * Returns null for streams without sound, and for other codecs: a packet of FLAC, for example, may hold any number of
 * frames.
 */
export function codecAt(bytes: Buffer, at: number): OggCodec | null {
  const codec = CODECS.find(({ name }) => bytes.toString('latin1', at, at + name.length) === name);
  if (codec === undefined || at + codec.headBytes > bytes.length) return null;
  const found = codec.read(bytes, at);
  return found.sampleRate === 0 ? null : found;
}

interface KnownCodec {
  readonly name: string;
  readonly headBytes: number;
  read(bytes: Buffer, at: number): OggCodec;
}

const CODECS: readonly KnownCodec[] = [
  { name: 'OpusHead', headBytes: 12, read: opus },
  { name: '\u0001vorbis', headBytes: 16, read: vorbis },
  { name: 'Speex   ', headBytes: 68, read: speex },
];

function opus(bytes: Buffer, at: number): OggCodec {
  return { sampleRate: OPUS_RATE, skipped: bytes.readUInt16LE(at + 10), samplesOf: opusSamples };
}

const SETUP = Buffer.from('\u0005vorbis', 'latin1');

function vorbis(bytes: Buffer, at: number): OggCodec {
  const blocks = vorbisBlocks(bytes, at);
  let isSetup = false;
  let setups = 0;
  let isUsual = false;
  return {
    sampleRate: bytes.readUInt32LE(at + 12),
    skipped: 0,
    samplesOf(page, start) {
      isSetup = setups < 2 && beginsSetup(page, start);
      return vorbisSamples(page, start, blocks, isUsual);
    },
    endPacket(page, start, end) {
      if (!isSetup) return;
      setups += 1;
      // Returns false if there are several setup packets, because decoders differ in which one they read.
      isUsual = setups === 1 && hasUsualModes(page.subarray(start, end));
    },
  };
}

/**
 * Returns whether a setup packet begins here. Compares byte by byte without copying: a file can have millions of
 * packets.
 */
function beginsSetup(page: Buffer, start: number): boolean {
  for (let at = 0; at < SETUP.length; at += 1) if (page[start + at] !== SETUP[at]) return false;
  return true;
}

/** Samples of a Speex frame at 8 kHz; each faster mode has twice as many as the one before. */
const SPEEX_FRAME = 160;

/** https://speex.org/docs/manual/speex-manual/node8.html */
function speex(bytes: Buffer, at: number): OggCodec {
  const samples =
    SPEEX_FRAME * 2 ** Math.min(2, bytes.readUInt32LE(at + 40)) * Math.max(1, bytes.readUInt32LE(at + 64));
  return { sampleRate: bytes.readUInt32LE(at + 36), skipped: 0, samplesOf: () => samples };
}
