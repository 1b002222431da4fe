import { SandboxError } from '../http/sandbox-error';

const PCM = 1;
const FLOAT = 3;
const EXTENSIBLE = 0xfffe;

interface Format {
  readonly encoding: number;
  readonly channels: number;
  readonly sampleRate: number;
  readonly byteRate: number;
  readonly blockBytes: number;
  readonly bits: number;
}

/** Returns how long a WAVE file is; null for other bytes. Throws 400 when its header contradicts itself. */
export function readWaveSeconds(bytes: Buffer): number | null {
  const isWave =
    bytes.length >= 12 && bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WAVE';
  if (!isWave) return null;
  const chunks = findChunks(bytes);
  const format = readFormat(chunks.get('fmt '));
  const data = chunks.get('data');
  if (!data) throw broken('has no data');
  if (isLinear(format) || format.byteRate === 0) {
    return Math.floor(data.length / format.blockBytes) / format.sampleRate;
  }
  return data.length / format.byteRate;
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

function broken(reason: string): SandboxError {
  return new SandboxError(400, `The WAVE file ${reason}`, 'file', 'invalid_audio');
}
