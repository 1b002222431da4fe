import type { BenchProcess } from './support/child-process';
import { percentiles, runBenchmark, startContest, type Contest } from './support/comparison';
import { rounded } from './support/statistics';
import { measureStreams, type StreamLoad } from './support/stream-load';

/**
 * 512 callers at once that read streams of 64 events, one every 50 ms: how long the first byte takes by way of
 * the gateway, by way of a bare pass-through, and directly from the provider; what an event costs; and how much
 * memory the processes take.
 */
const EVENTS = 64;
const EVERY_MS = 50;
const LOAD: StreamLoad = {
  callers: Number(process.env.BENCH_CALLERS ?? 512),
  seconds: Number(process.env.BENCH_ROUND_SECONDS ?? 15),
  spreadMs: EVENTS * EVERY_MS,
};
const SAMPLE_EVERY_MS = 250;
const PATH = '/chat/completions';
const PREFIX = `stream-${EVENTS}-${EVERY_MS}`;

const BODY = JSON.stringify({
  model: 'bench/chat',
  messages: [{ role: 'user', content: 'What is the capital of France, and how many people live there? '.repeat(4) }],
  max_tokens: 256,
  stream: true,
});

/** The most memory that a process took while something went on. */
async function watched<T>(process: BenchProcess, run: () => Promise<T>): Promise<{ result: T; peakMebibytes: number }> {
  let peakMebibytes = process.residentMebibytes();
  const timer = setInterval(() => {
    peakMebibytes = Math.max(peakMebibytes, process.residentMebibytes());
  }, SAMPLE_EVERY_MS);
  try {
    return { result: await run(), peakMebibytes };
  } finally {
    clearInterval(timer);
  }
}

async function measureThrough(process: BenchProcess, url: string, apiKey: string) {
  const idleMebibytes = process.residentMebibytes();
  const cpuBefore = process.cpuMicros();
  const { result, peakMebibytes } = await watched(process, () => measureStreams({ url, apiKey, body: BODY }, LOAD));
  const { firstByteMs, streams, failed } = result;
  return {
    first_byte_ms: percentiles(firstByteMs),
    streams,
    failed,
    cpu_micros_per_event: rounded((process.cpuMicros() - cpuBefore) / Math.max(1, streams * EVENTS), 2),
    rss_mebibytes: { idle: idleMebibytes, peak: peakMebibytes },
  };
}

async function measure({ installation, bare }: Contest): Promise<object> {
  const { apiKey, gateway, gatewayUrl, upstreamUrl } = installation;
  const direct = await measureStreams({ url: `${upstreamUrl}/${PREFIX}/v1${PATH}`, apiKey, body: BODY }, LOAD);
  const passedOn = await measureThrough(bare.process, bare.url + PATH, apiKey);
  const served = await measureThrough(gateway, gatewayUrl + PATH, apiKey);
  const directMs = percentiles(direct.firstByteMs);
  return {
    benchmark: 'streams',
    callers: LOAD.callers,
    events_per_stream: EVENTS,
    direct: { first_byte_ms: directMs, streams: direct.streams, failed: direct.failed },
    bare_pass_through: passedOn,
    gateway: served,
    added_first_byte_p50_ms: rounded(served.first_byte_ms.p50 - directMs.p50, 3),
    added_first_byte_p99_ms: rounded(served.first_byte_ms.p99 - directMs.p99, 3),
    events_per_core_ratio: rounded(passedOn.cpu_micros_per_event / served.cpu_micros_per_event, 2),
  };
}

runBenchmark(async () => {
  const contest = await startContest({ catalogue: { upstreamPrefix: PREFIX } });
  try {
    return await measure(contest);
  } finally {
    await contest.stop();
  }
});
