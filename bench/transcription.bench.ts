import { request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { runBenchmark } from './support/comparison';
import { startInstallation, type Installation } from './support/installation';
import { median, rounded } from './support/statistics';

/**
 * What an upload of 25 MiB costs at the gateway, beside the same upload to the provider itself: its time, once as
 * fast as the caller can send and once over a line of 100 Mbit/s, and the memory that one of them adds. A
 * recording is taken in whole before it is passed on, so a line as fast as memory shows the time of two transfers.
 */
const FILE_BYTES = 25 * 1024 * 1024 - 1_024;
const BOUNDARY = 'a-boundary-of-a-benchmark';
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const PIECE_BYTES = 64 * 1024;
const LINE_BYTES_PER_MS = 100_000 / 8;
const SAMPLE_MS = 5;

function form(): Buffer {
  const field = (name: string, value: string): string =>
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const opening = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: audio/wav\r\n\r\n`;
  return Buffer.concat([
    Buffer.from(field('model', 'bench/transcription') + opening),
    wave(),
    Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
  ]);
}

function wave(): Buffer {
  const file = Buffer.alloc(FILE_BYTES, 0x11);
  file.write('RIFF', 0, 'latin1');
  file.write('WAVEfmt ', 8, 'latin1');
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(1, 22);
  file.writeUInt32LE(16_000, 24);
  file.writeUInt32LE(32_000, 28);
  file.writeUInt16LE(2, 32);
  file.writeUInt16LE(16, 34);
  file.write('data', 36, 'latin1');
  file.writeUInt32LE(FILE_BYTES - 44, 40);
  return file;
}

/** Milliseconds from the first byte sent to the last byte of the answer. */
async function upload(url: string, apiKey: string, body: Buffer, bytesPerMs: number): Promise<number> {
  const startedMs = performance.now();
  const sent = request(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${apiKey}`,
      'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
      'content-length': body.length,
    },
  });
  const answered = new Promise<void>((resolve, reject) => {
    sent.once('error', reject).once('response', (response) => {
      response.resume().once('end', () => {
        if (response.statusCode === 200) resolve();
        else reject(new Error(`${url} answered ${response.statusCode}`));
      });
    });
  });
  for (let at = 0; at < body.length; at += PIECE_BYTES) {
    const dueMs = startedMs + at / bytesPerMs;
    if (dueMs > performance.now() + 1) await delay(dueMs - performance.now());
    if (!sent.write(body.subarray(at, at + PIECE_BYTES))) await new Promise((resolve) => sent.once('drain', resolve));
  }
  sent.end();
  await answered;
  return performance.now() - startedMs;
}

/** Round by round in turns; the first of each warms it up and does not count. */
async function compareTimes(installation: Installation, body: Buffer, bytesPerMs: number): Promise<object> {
  const { gateway: process, gatewayUrl, upstreamUrl, apiKey } = installation;
  let cpuMicros = 0;
  const times = { gateway: [] as number[], direct: [] as number[] };
  for (let round = 0; round <= ROUNDS; round += 1) {
    const direct = await upload(`${upstreamUrl}/v1/audio/transcriptions`, 'key', body, bytesPerMs);
    const cpuBefore = process.cpuMicros();
    const gateway = await upload(`${gatewayUrl}/audio/transcriptions`, apiKey, body, bytesPerMs);
    if (round > 0) cpuMicros += process.cpuMicros() - cpuBefore;
    if (round > 0) times.gateway.push(gateway);
    if (round > 0) times.direct.push(direct);
  }
  const [gateway, direct] = [median(times.gateway), median(times.direct)];
  return {
    gateway_ms: rounded(gateway, 1),
    direct_ms: rounded(direct, 1),
    ratio: rounded(gateway / direct, 3),
    gateway_cpu_ms: rounded(cpuMicros / ROUNDS / 1_000, 1),
  };
}

/** The most that the process holds while one upload runs, beyond what it held before the first. */
async function addedMemory({ gateway, gatewayUrl, apiKey }: Installation, body: Buffer): Promise<object> {
  const before = gateway.residentMebibytes();
  let peak = before;
  const timer = setInterval(() => (peak = Math.max(peak, gateway.residentMebibytes())), SAMPLE_MS);
  await upload(`${gatewayUrl}/audio/transcriptions`, apiKey, body, LINE_BYTES_PER_MS);
  clearInterval(timer);
  return { before_mebibytes: before, peak_mebibytes: peak, added_mebibytes: peak - before };
}

async function settled(gateway: Installation['gateway']): Promise<void> {
  await delay(3_000);
  if (gateway.hasEnded) throw new Error('the gateway has ended');
}

runBenchmark(async () => {
  const installation = await startInstallation({ creditUsd: '100000' });
  try {
    const body = form();
    const short = Buffer.concat([body.subarray(0, 2_000), Buffer.from(`\r\n--${BOUNDARY}--\r\n`)]);
    // A file that is cut off is refused, but all code on the way to it is warm then.
    for (let i = 0; i < 20; i += 1) {
      await upload(`${installation.gatewayUrl}/audio/transcriptions`, installation.apiKey, short, 1e9).catch(() => 0);
    }
    await settled(installation.gateway);
    const memory = await addedMemory(installation, body);
    return {
      benchmark: 'transcription',
      upload_mebibytes: 25,
      memory,
      at_100_mbit: await compareTimes(installation, body, LINE_BYTES_PER_MS),
      unlimited: await compareTimes(installation, body, Number.POSITIVE_INFINITY),
    };
  } finally {
    await installation.stop();
  }
});
