import { SandboxError } from '../http/sandbox-error';

const PCM = 1;
const FLOAT = 3;
const EXTENSIBLE = 0xfffe;

/** A RIFF/WAVE recording: its shape, and how to read its samples. */
export interface Wave {
  readonly sampleRate: number;
  readonly frames: number;
  readonly durationSeconds: number;
  /** The mean of the channels at a frame, from -1 to 1; null when the encoding is not PCM or float. */
  readonly sampleAt: ((frame: number) => number) | null;
}

interface Format {
  readonly encoding: number;
  readonly channels: number;
  readonly sampleRate: number;
  readonly byteRate: number;
  readonly blockBytes: number;
  readonly bits: number;
}

/** null for bytes that are no WAVE file; 400 for a WAVE file whose header contradicts itself. */
export function readWave(bytes: Buffer): Wave | null {
  const isWave =
    bytes.length >= 12 && bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WAVE';
  if (!isWave) return null;
  const chunks = findChunks(bytes);
  const format = readFormat(chunks.get('fmt '));
  const data = chunks.get('data');
  if (!data) throw broken('has no data');
  const frames = Math.floor(data.length / format.blockBytes);
  const read = sampleReader(format.encoding, format.bits);
  return {
    sampleRate: format.sampleRate,
    frames,
    durationSeconds:
      isLinear(format) || format.byteRate === 0 ? frames / format.sampleRate : data.length / format.byteRate,
    sampleAt: read && ((frame) => meanOfChannels(data, frame, format, read)),
  };
}

/** Chunks by name. A size beyond the file's end, as live recorders write it, ends with the file. */
function findChunks(bytes: Buffer): ReadonlyMap<string, Buffer> {
  const chunks = new Map<string, Buffer>();
  let at = 12;
  while (at + 8 <= bytes.length) {
    const name = bytes.toString('latin1', at, at + 4);
    const size = bytes.readUInt32LE(at + 4);
    const end = Math.min(at + 8 + size, bytes.length);
    if (!chunks.has(name)) chunks.set(name, bytes.subarray(at + 8, end));
    at = end + (size % 2);
  }
  return chunks;
}

function readFormat(chunk: Buffer | undefined): Format {
  if (!chunk || chunk.length < 16) throw broken('has no format');
  const tag = chunk.readUInt16LE(0);
  const format: Format = {
    encoding: tag === EXTENSIBLE && chunk.length >= 26 ? chunk.readUInt16LE(24) : tag,
    channels: chunk.readUInt16LE(2),
    sampleRate: chunk.readUInt32LE(4),
    byteRate: chunk.readUInt32LE(8),
    blockBytes: chunk.readUInt16LE(12),
    bits: chunk.readUInt16LE(14),
  };
  if (!isConsistent(format)) throw broken('has a format that contradicts itself');
  return format;
}

function isConsistent(format: Format): boolean {
  if (format.channels === 0 || format.sampleRate === 0 || format.blockBytes === 0) return false;
  return !isLinear(format) || format.blockBytes === format.channels * Math.ceil(format.bits / 8);
}

function isLinear(format: Format): boolean {
  return format.encoding === PCM || format.encoding === FLOAT;
}

type SampleReader = (data: Buffer, at: number) => number;

function sampleReader(encoding: number, bits: number): SampleReader | null {
  if (encoding === FLOAT && bits === 32) return (data, at) => finite(data.readFloatLE(at));
  if (encoding === FLOAT && bits === 64) return (data, at) => finite(data.readDoubleLE(at));
  if (encoding !== PCM) return null;
  switch (bits) {
    case 8:
      return (data, at) => (data.readUInt8(at) - 128) / 128;
    case 16:
      return (data, at) => data.readInt16LE(at) / 32_768;
    case 24:
      return (data, at) => data.readIntLE(at, 3) / 8_388_608;
    case 32:
      return (data, at) => data.readInt32LE(at) / 2_147_483_648;
    default:
      return null;
  }
}

function meanOfChannels(data: Buffer, frame: number, format: Format, read: SampleReader): number {
  const start = frame * format.blockBytes;
  if (format.channels === 1) return read(data, start);
  const bytes = format.blockBytes / format.channels;
  let sum = 0;
  for (let channel = 0; channel < format.channels; channel += 1) sum += read(data, start + channel * bytes);
  return sum / format.channels;
}

function finite(value: number): number {
  return Number.isFinite(value) ? value : 0;
}

function broken(reason: string): SandboxError {
  return new SandboxError(400, `The WAVE file ${reason}`, 'file', 'invalid_audio');
}
