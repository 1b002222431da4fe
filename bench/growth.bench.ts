import { runBenchmark, startContest, type Contest } from './support/comparison';
import { measureLoad } from './support/load';
import { median, rounded } from './support/statistics';
import { measureStreams } from './support/stream-load';

/**
 * What grows with what: CPU time of the gateway per request with a small and a large catalogue, which should be the
 * same, and per event of short and long streams, which should only fall, as the cost of the call is shared by more.
 */
const CATALOGUES = [10, 1_000];
const STREAMS = [16, 64, 256, 1_024];
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 4);
const SECONDS = Number(process.env.BENCH_ROUND_SECONDS ?? 5);
const CONNECTIONS = 64;
const STREAM_CALLERS = 16;
const PATH = '/chat/completions';

const bodyOf = (stream: boolean): string =>
  JSON.stringify({
    model: 'bench/chat',
    messages: [{ role: 'user', content: 'What is the capital of France?' }],
    max_tokens: 256,
    stream,
  });

/** By size of the catalogue: gateways that run side by side, and are asked round by round in turns. */
async function microsPerRequest(sizes: readonly number[]): Promise<object> {
  const contests: Contest[] = [];
  try {
    for (const models of sizes) contests.push(await startContest({ catalogue: { models } }));
    const rounds = contests.map((): number[] => []);
    for (let round = 0; round <= ROUNDS; round += 1) {
      for (const [index, { installation }] of contests.entries()) {
        const { gateway, gatewayUrl, apiKey } = installation;
        const target = { process: gateway, url: gatewayUrl + PATH, apiKey, body: bodyOf(false) };
        const load = { connections: CONNECTIONS, seconds: SECONDS };
        const { cpuMicrosPerRequest } = await measureLoad(target, load);
        // The first round warms up.
        if (round > 0) rounds[index]!.push(cpuMicrosPerRequest);
      }
    }
    return Object.fromEntries(sizes.map((models, index) => [models, Math.round(median(rounds[index]!))]));
  } finally {
    for (const { stop } of contests) await stop();
  }
}

async function microsPerEvent(events: number): Promise<number> {
  const { installation, stop } = await startContest({ catalogue: { upstreamPrefix: `stream-${events}-0` } });
  try {
    const { gateway, gatewayUrl, apiKey } = installation;
    const load = { callers: STREAM_CALLERS, seconds: SECONDS, spreadMs: 0 };
    const target = { url: gatewayUrl + PATH, apiKey, body: bodyOf(true) };
    await measureStreams(target, load);
    const cpuBefore = gateway.cpuMicros();
    const { streams } = await measureStreams(target, load);
    return rounded((gateway.cpuMicros() - cpuBefore) / Math.max(1, streams * events), 2);
  } finally {
    await stop();
  }
}

async function each(sizes: readonly number[], measure: (size: number) => Promise<number>): Promise<object> {
  const found: Record<string, number> = {};
  for (const size of sizes) found[size] = await measure(size);
  return found;
}

runBenchmark(async () => ({
  benchmark: 'growth',
  cpu_micros_per_request_by_models: await microsPerRequest(CATALOGUES),
  cpu_micros_per_event_by_events: await each(STREAMS, microsPerEvent),
}));
