const WAVE_HEAD_BYTES = 44;

/** A WAVE file of 16 bits with these samples, of all channels in turn. */
export function waveOf(sampleRate: number, samples: Buffer, channels = 1): Buffer {
  const head = Buffer.alloc(WAVE_HEAD_BYTES);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(WAVE_HEAD_BYTES - 8 + samples.length, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(channels, 22);
  head.writeUInt32LE(sampleRate, 24);
  head.writeUInt32LE(sampleRate * channels * 2, 28);
  head.writeUInt16LE(channels * 2, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(samples.length, 40);
  return Buffer.concat([head, samples]);
}

/** A WAVE file of a tone: mono, 16 bit, by default 8 kHz. */
export function waveFile(seconds: number, sampleRate = 8_000): Buffer {
  const samples = Buffer.alloc(Math.round(seconds * sampleRate) * 2);
  for (let at = 0; at < samples.length; at += 2) {
    const value = Math.sin((at / 2 / sampleRate) * 440 * 2 * Math.PI);
    samples.writeInt16LE(Math.round(value * 10_000), at);
  }
  return waveOf(sampleRate, samples);
}

/** One part of a form; `head` is written as it is. */
export interface RawPart {
  readonly head: string;
  readonly body: string | Buffer;
}

/** A form byte by byte, for those that no library would write. */
export function rawForm(boundary: string, parts: readonly RawPart[], ending = `--${boundary}--\r\n`): Buffer {
  const pieces = parts.flatMap(({ head, body }) => [
    Buffer.from(`--${boundary}\r\n${head}\r\n\r\n`),
    Buffer.from(body),
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([...pieces, Buffer.from(ending)]);
}

export function fieldPart(name: string, value: string): RawPart {
  return { head: `Content-Disposition: form-data; name="${name}"`, body: value };
}

export function filePart(bytes: Buffer, filename = 'speech.wav', type = 'audio/wav', field = 'file'): RawPart {
  return {
    head: `Content-Disposition: form-data; name="${field}"; filename="${filename}"\r\nContent-Type: ${type}`,
    body: bytes,
  };
}
