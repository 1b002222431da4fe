import { PCM_SAMPLE_BYTES, PCM_SAMPLE_RATE } from '../../media/audio-format';
import type { SizedBody } from '../../wire/upstream-call';

const HEAD_BYTES = 44;
const PLAIN_SAMPLES = 1;

/** Returns raw samples with a WAVE header before them, for upstreams that accept no raw samples. */
export function asWave(samples: SizedBody): SizedBody {
  const head = Buffer.alloc(HEAD_BYTES);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(HEAD_BYTES - 8 + samples.length, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(PLAIN_SAMPLES, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(PCM_SAMPLE_RATE, 24);
  head.writeUInt32LE(PCM_SAMPLE_RATE * PCM_SAMPLE_BYTES, 28);
  head.writeUInt16LE(PCM_SAMPLE_BYTES, 32);
  head.writeUInt16LE(PCM_SAMPLE_BYTES * 8, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(samples.length, 40);
  return {
    length: HEAD_BYTES + samples.length,
    async *[Symbol.asyncIterator]() {
      yield head;
      yield* samples;
    },
  };
}
