import { request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { runBenchmark, startBare, startContest, type Contest } from './support/comparison';
import type { Installation } from './support/installation';
import { PacedLine } from './support/paced-line';
import { median, rounded } from './support/statistics';

/**
 * Measures an upload of 25 MiB to the gateway, to the provider itself and to a process that only passes bytes through:
 * its time and the memory that it adds. Three times: with lines of 100 Mbit/s from the
 * caller and to the provider; with a caller at 100 Mbit/s and a gateway that reaches the provider at 10 Gbit/s, as in
 * a data centre; and where every line is as fast as memory, and all processes share the processors. Forms with the
 * file in front, which are passed on when they are whole, are measured as well.
 */
const FILE_BYTES = 25 * 1024 * 1024 - 1_024;
const BOUNDARY = 'a-boundary-of-a-benchmark';
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const PIECE_BYTES = 64 * 1024;
const SLOW_BYTES_PER_MS = 100_000 / 8;
const FAST_BYTES_PER_MS = 10_000_000 / 8;
const SAMPLE_MS = 5;
const WARM_UP_BYTES = 300 * 1024;
const PATH = '/audio/transcriptions';

function form(model: string, fileBytes: number, isFileFirst = false): Buffer {
  const part = (disposition: string, body: string | Buffer): Buffer =>
    Buffer.concat([
      Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`),
      Buffer.from(body),
      Buffer.from('\r\n'),
    ]);
  const parts = [part('name="model"', model), part('name="file"; filename="a.wav"', wave(fileBytes))];
  return Buffer.concat([...(isFileFirst ? parts.toReversed() : parts), Buffer.from(`--${BOUNDARY}--\r\n`)]);
}

function wave(bytes: number): Buffer {
  const file = Buffer.alloc(bytes, 0x11);
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
  file.writeUInt32LE(bytes - 44, 40);
  return file;
}

/** Milliseconds from the first byte sent to the last byte of the answer. */
async function upload(baseUrl: string, apiKey: string, body: Buffer): Promise<number> {
  const startedMs = performance.now();
  const url = baseUrl + PATH;
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
    if (!sent.write(body.subarray(at, at + PIECE_BYTES))) await new Promise((resolve) => sent.once('drain', resolve));
  }
  sent.end();
  await answered;
  return performance.now() - startedMs;
}

/** The ways that an upload can take, and what it says on each. */
interface Ways {
  readonly directUrl: string;
  readonly gatewayUrl: string;
  /** Of a process that only passes bytes through. */
  readonly bareUrl: string;
  readonly model: string;
}

/** Round by round in turns; the first of each warms it up and does not count. */
async function compareTimes({ gateway: process, apiKey }: Installation, ways: Ways): Promise<object> {
  const bodies = { passed_on: form(ways.model, FILE_BYTES), held: form(ways.model, FILE_BYTES, true) };
  const times = { direct: [] as number[], bare: [] as number[], passed_on: [] as number[], held: [] as number[] };
  let cpuMicros = 0;
  for (let round = 0; round <= ROUNDS; round += 1) {
    const direct = await upload(ways.directUrl, 'key', bodies.passed_on);
    const bare = await upload(ways.bareUrl, 'key', bodies.passed_on);
    const cpuBefore = process.cpuMicros();
    const passedOn = await upload(ways.gatewayUrl, apiKey, bodies.passed_on);
    const spent = process.cpuMicros() - cpuBefore;
    const held = await upload(ways.gatewayUrl, apiKey, bodies.held);
    if (round === 0) continue;
    cpuMicros += spent;
    times.direct.push(direct);
    times.bare.push(bare);
    times.passed_on.push(passedOn);
    times.held.push(held);
  }
  const direct = median(times.direct);
  const bare = median(times.bare);
  const passedOn = median(times.passed_on);
  const held = median(times.held);
  return {
    direct_ms: rounded(direct, 1),
    bare_pass_through_ms: rounded(bare, 1),
    bare_pass_through_ratio: rounded(bare / direct, 3),
    gateway_ms: rounded(passedOn, 1),
    ratio: rounded(passedOn / direct, 3),
    gateway_cpu_ms: rounded(cpuMicros / ROUNDS / 1_000, 1),
    file_first_ms: rounded(held, 1),
    file_first_ratio: rounded(held / direct, 3),
  };
}

/** The most that the process holds while one upload runs, beyond what it held before the first. */
async function addedMemory({ gateway, apiKey }: Installation, ways: Ways): Promise<object> {
  const body = form(ways.model, FILE_BYTES);
  const before = gateway.residentMebibytes();
  let peak = before;
  const timer = setInterval(() => (peak = Math.max(peak, gateway.residentMebibytes())), SAMPLE_MS);
  await upload(ways.gatewayUrl, apiKey, body);
  clearInterval(timer);
  return { before_mebibytes: before, peak_mebibytes: peak, added_mebibytes: peak - before };
}

async function settled(gateway: Installation['gateway']): Promise<void> {
  await delay(3_000);
  if (gateway.hasEnded) throw new Error('the gateway has ended');
}

/** From the caller to the gateway, to the bare process and to the provider itself, and from those two to the provider. */
interface Lines {
  readonly toGateway: PacedLine;
  readonly toBare: PacedLine;
  readonly toProvider: PacedLine;
  readonly onwards: PacedLine;
}

/** The gateway, and processes that pass bytes through: to the upstream itself, and over a line. */
interface Contestants extends Pick<Contest, 'installation' | 'bare'> {
  readonly farBare: Contest['bare'];
}

async function measure({ installation, bare, farBare }: Contestants, lines: Lines): Promise<object> {
  const { gateway, gatewayUrl, upstreamUrl, apiKey } = installation;
  lines.toGateway.targetUrl = gatewayUrl;
  lines.toBare.targetUrl = farBare.url;
  lines.toProvider.targetUrl = upstreamUrl;
  lines.onwards.targetUrl = upstreamUrl;
  const near: Ways = { directUrl: `${upstreamUrl}/v1`, gatewayUrl, bareUrl: bare.url, model: 'bench/transcription' };
  const far: Ways = {
    directUrl: `${lines.toProvider.url}/v1`,
    gatewayUrl: lines.toGateway.url + new URL(gatewayUrl).pathname,
    bareUrl: lines.toBare.url + new URL(farBare.url).pathname,
    model: 'bench/far',
  };
  for (let i = 0; i < 20; i += 1) await upload(gatewayUrl, apiKey, form(near.model, WARM_UP_BYTES));
  await settled(gateway);
  const memory = await addedMemory(installation, far);
  const equalLines = await compareTimes(installation, far);
  lines.onwards.bytesPerMs = FAST_BYTES_PER_MS;
  return {
    benchmark: 'transcription',
    upload_mebibytes: 25,
    memory,
    at_100_mbit: equalLines,
    at_100_mbit_and_10_gbit_onwards: await compareTimes(installation, far),
    unlimited: await compareTimes(installation, near),
    memory_after_all_mebibytes: gateway.residentMebibytes(),
  };
}

runBenchmark(async () => {
  const open = (): Promise<PacedLine> => PacedLine.open(SLOW_BYTES_PER_MS);
  const lines = { toGateway: await open(), toBare: await open(), toProvider: await open(), onwards: await open() };
  const contest = await startContest({ catalogue: { farUrl: lines.onwards.url } });
  const farBare = await startBare(lines.onwards.url, contest.installation.upstreamKey);
  try {
    return await measure({ ...contest, farBare }, lines);
  } finally {
    await farBare.process.stop();
    await contest.stop();
    for (const line of Object.values(lines)) line.close();
  }
});
