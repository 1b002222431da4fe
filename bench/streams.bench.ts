import type { BenchProcess } from './support/child-process';
import { percentiles, runBenchmark, startContest, type Contest } from './support/comparison';
import { rounded } from './support/statistics';
import { measureStreams, type StreamLoad, type StreamTarget } from './support/stream-load';

/**
 * 512 callers at once that read streams of 64 events: how long the first byte takes by way of the gateway, by way of a
 * bare pass-through, and directly from the provider; what an event costs; and how much memory the processes take.
 *
 * At three paces, each with processes of its own: an event every 100 ms, and one every 50, both from a provider that
 * answers at once, the hardest comparison; and one every 50 ms from a provider whose first takes 200, as it does where
 * a model reads its prompt. All processes share the machine. If a pace needs more CPU time than it has, the times are
 * those of the machine: `core_busy` shows that.
 */
const EVENTS = 64;
/** Milliseconds between events, and behind a plus those before the first where it is not sent at once. */
const PACES = (process.env.BENCH_PACES_MS ?? '100,50,50+200').split(',').map(paceOf);
const CALLERS = Number(process.env.BENCH_CALLERS ?? 512);
const SECONDS = Number(process.env.BENCH_ROUND_SECONDS ?? 15);
/** Until V8 has compiled the code of a stream; before, a measurement would be that of the compiler. */
const WARM_UP_SECONDS = 5;
const SAMPLE_EVERY_MS = 250;
const PATH = '/chat/completions';

const BODY = JSON.stringify({
  model: 'bench/chat',
  messages: [{ role: 'user', content: 'What is the capital of France, and how many people live there? '.repeat(4) }],
  max_tokens: 256,
  stream: true,
});

interface Pace {
  readonly everyMs: number;
  readonly firstMs: number;
}

interface Watched<T> {
  readonly result: T;
  /** The most memory that the process took meanwhile. */
  readonly peakMebibytes: number;
}

async function watched<T>(process: BenchProcess, run: () => Promise<T>): Promise<Watched<T>> {
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

function paceOf(text: string): Pace {
  const [everyMs = 0, firstMs = 0] = text.split('+').map(Number);
  return { everyMs, firstMs };
}

function loadAt({ everyMs, firstMs }: Pace): StreamLoad {
  return { callers: CALLERS, seconds: SECONDS, spreadMs: firstMs + EVENTS * everyMs };
}

/** Runs warm-up rounds, which do not count, then measured rounds. */
async function measureWarm(target: StreamTarget, load: StreamLoad) {
  await measureStreams(target, { ...load, seconds: WARM_UP_SECONDS });
  return measureStreams(target, load);
}

async function measureThrough(process: BenchProcess, target: StreamTarget, load: StreamLoad) {
  const idleMebibytes = process.residentMebibytes();
  const { peakMebibytes: warmUpPeak } = await watched(process, () =>
    measureStreams(target, { ...load, seconds: WARM_UP_SECONDS }),
  );
  const [cpuBefore, startedMs] = [process.cpuMicros(), performance.now()];
  const { result, peakMebibytes } = await watched(process, () => measureStreams(target, load));
  const [cpuMicros, tookMs] = [process.cpuMicros() - cpuBefore, performance.now() - startedMs];
  const { firstByteMs, streams, failed } = result;
  return {
    first_byte_ms: percentiles(firstByteMs),
    streams,
    failed,
    cpu_micros_per_event: rounded(cpuMicros / Math.max(1, streams * EVENTS), 2),
    core_busy: rounded(cpuMicros / 1_000 / tookMs, 2),
    rss_mebibytes: { idle: idleMebibytes, peak: Math.max(peakMebibytes, warmUpPeak) },
  };
}

async function measure({ installation, bare }: Contest, pace: Pace): Promise<object> {
  const { apiKey, gateway, gatewayUrl, upstreamUrl } = installation;
  const load = loadAt(pace);
  const at = (url: string): StreamTarget => ({ url: url + PATH, apiKey, body: BODY });
  const direct = await measureWarm(at(`${upstreamUrl}/${prefixOf(pace)}/v1`), load);
  const passedOn = await measureThrough(bare.process, at(bare.url), load);
  const served = await measureThrough(gateway, at(gatewayUrl), load);
  const directMs = percentiles(direct.firstByteMs);
  return {
    event_every_ms: pace.everyMs,
    first_event_after_ms: pace.firstMs,
    direct: { first_byte_ms: directMs, streams: direct.streams, failed: direct.failed },
    bare_pass_through: passedOn,
    gateway: served,
    added_first_byte_p50_ms: rounded(served.first_byte_ms.p50 - directMs.p50, 3),
    added_first_byte_p99_ms: rounded(served.first_byte_ms.p99 - directMs.p99, 3),
    first_byte_p99_ratio: rounded(served.first_byte_ms.p99 / directMs.p99, 2),
    bare_first_byte_p99_ratio: rounded(passedOn.first_byte_ms.p99 / directMs.p99, 2),
    events_per_core_ratio: rounded(passedOn.cpu_micros_per_event / served.cpu_micros_per_event, 2),
  };
}

function prefixOf({ everyMs, firstMs }: Pace): string {
  return `stream-${EVENTS}-${everyMs}${firstMs > 0 ? `-${firstMs}` : ''}`;
}

async function measureAt(pace: Pace): Promise<object> {
  const contest = await startContest({ catalogue: { upstreamPrefix: prefixOf(pace) } });
  try {
    return await measure(contest, pace);
  } finally {
    await contest.stop();
  }
}

runBenchmark(async () => {
  const paces = [];
  for (const pace of PACES) paces.push(await measureAt(pace));
  return { benchmark: 'streams', callers: CALLERS, events_per_stream: EVENTS, paces };
});
