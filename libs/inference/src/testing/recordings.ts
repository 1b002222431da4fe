const WAVE_HEAD_BYTES = 44;

/** A WAVE file of a tone: mono, 16 bit, by default 8 kHz. */
export function waveFile(seconds: number, sampleRate = 8_000): Buffer {
  const samples = Math.round(seconds * sampleRate);
  const file = Buffer.alloc(WAVE_HEAD_BYTES + samples * 2);
  file.write('RIFF', 0, 'latin1');
  file.writeUInt32LE(file.length - 8, 4);
  file.write('WAVEfmt ', 8, 'latin1');
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(1, 22);
  file.writeUInt32LE(sampleRate, 24);
  file.writeUInt32LE(sampleRate * 2, 28);
  file.writeUInt16LE(2, 32);
  file.writeUInt16LE(16, 34);
  file.write('data', 36, 'latin1');
  file.writeUInt32LE(samples * 2, 40);
  for (let index = 0; index < samples; index += 1) {
    const value = Math.sin((index / sampleRate) * 440 * 2 * Math.PI);
    file.writeInt16LE(Math.round(value * 10_000), WAVE_HEAD_BYTES + index * 2);
  }
  return file;
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
