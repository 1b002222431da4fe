import { join, resolve } from 'node:path';
import { answers, BenchProcess, freePort, untilReady } from './support/child-process';
import { startInstallation } from './support/installation';
import {
  measureLatency,
  measureLoad,
  type LatencyReport,
  type Load,
  type LoadReport,
  type Target,
} from './support/load';

/**
 * What a chat completion costs at the gateway, beside a process that only passes bytes through (same
 * framework, same HTTP client), under the same load in turns. Throughput per core is 1 s over the CPU time
 * of the server process per request; latencies come from a few callers that wait for each answer.
 */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 4);
const ROUND_SECONDS = Number(process.env.BENCH_ROUND_SECONDS ?? 5);
const CONNECTIONS = 64;
/** Low enough for both: who is busier wakes up its peers less often, which makes each request cheaper. */
const STEADY_REQUESTS_PER_SECOND = 2_000;
const LOW_LOADS = [1, 4];
const LOW_LOAD_REQUESTS = 3_000;

const BODY = JSON.stringify({
  model: 'bench/chat',
  messages: [
    { role: 'system', content: 'You are a helpful assistant that answers in one sentence.' },
    { role: 'user', content: 'What is the capital of France, and how many people live there? '.repeat(4) },
  ],
  temperature: 0.7,
  max_tokens: 256,
});

interface Server extends Target {
  readonly process: BenchProcess;
}

type Servers = Readonly<Record<'gateway' | 'bare', Server>>;

async function main(): Promise<void> {
  const profile = process.argv.includes('--profile');
  const nodeFlags = profile ? ['--cpu-prof', `--cpu-prof-dir=${resolve('.sluice/profiles')}`] : [];
  const installation = await startInstallation({ creditUsd: '100000', nodeFlags });
  const bare = await startBare(installation.upstreamUrl, installation.upstreamKey, nodeFlags);
  try {
    const servers: Servers = {
      gateway: {
        process: installation.gateway,
        url: `${installation.gatewayUrl}/chat/completions`,
        apiKey: installation.apiKey,
        body: BODY,
      },
      bare: { ...bare, apiKey: installation.apiKey, body: BODY },
    };
    const saturated = await compareLoad(servers, { connections: CONNECTIONS, seconds: ROUND_SECONDS });
    const steady = await compareLoad(servers, {
      connections: CONNECTIONS,
      seconds: ROUND_SECONDS,
      requestsPerSecond: STEADY_REQUESTS_PER_SECOND,
    });
    const latencies = [];
    for (const connections of LOW_LOADS) latencies.push(await compareLatency(servers, connections));
    const report = { benchmark: 'chat', connections: CONNECTIONS, saturated, steady, low_load: latencies };
    process.stdout.write(`${JSON.stringify(report)}\n`);
  } finally {
    await bare.process.stop();
    await installation.stop();
  }
}

async function startBare(
  upstreamUrl: string,
  upstreamKey: string,
  nodeFlags: readonly string[],
): Promise<Pick<Server, 'process' | 'url'>> {
  const port = await freePort();
  const started = BenchProcess.start('bare', [...nodeFlags, join(__dirname, 'support/bare-proxy.js')], {
    ...process.env,
    NODE_ENV: 'production',
    PORT: String(port),
    UPSTREAM_URL: upstreamUrl,
    SANDBOX_API_KEY: upstreamKey,
  });
  await untilReady(started, () => answers(`http://127.0.0.1:${port}/health`));
  return { process: started, url: `http://127.0.0.1:${port}/api/v1/chat/completions` };
}

/** Round by round in turns; the first of each warms it up and does not count. */
async function compareLoad(servers: Servers, load: Load): Promise<object> {
  const rounds = { gateway: [] as LoadReport[], bare: [] as LoadReport[] };
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const name of ['gateway', 'bare'] as const) {
      const report = await measureLoad(servers[name], load);
      if (round > 0) rounds[name].push(report);
    }
  }
  const [gateway, bare] = [summarise(rounds.gateway), summarise(rounds.bare)];
  return {
    gateway,
    bare_pass_through: bare,
    throughput_per_core_ratio: round2(bare.cpu_micros_per_request / gateway.cpu_micros_per_request),
  };
}

/** Turn by turn, so that what else the machine does falls on both alike. */
async function compareLatency(servers: Servers, connections: number): Promise<object> {
  const all = { gateway: [] as number[], bare: [] as number[] };
  for (let turn = 0; turn < 6; turn += 1) {
    for (const name of ['gateway', 'bare'] as const) {
      all[name].push(...(await measureLatency(servers[name], connections, LOW_LOAD_REQUESTS / 6)));
    }
  }
  const [gateway, bare] = [percentiles(all.gateway), percentiles(all.bare)];
  return {
    connections,
    gateway_ms: gateway,
    bare_ms: bare,
    added_p50_ms: round3(gateway.p50 - bare.p50),
    added_p99_ms: round3(gateway.p99 - bare.p99),
  };
}

function percentiles(durationsMs: readonly number[]): LatencyReport {
  const sorted = durationsMs.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    round3(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0);
  return { p50: at(0.5), p99: at(0.99) };
}

function summarise(rounds: readonly LoadReport[]) {
  const median = (pick: (report: LoadReport) => number): number => {
    const sorted = rounds.map(pick).toSorted((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? 0;
  };
  return {
    requests_per_second: Math.round(median((r) => r.requestsPerSecond)),
    cpu_micros_per_request: Math.round(median((r) => r.cpuMicrosPerRequest)),
    p50_ms: median((r) => r.latency.p50),
    p99_ms: median((r) => r.latency.p99),
    failed: rounds.reduce((sum, r) => sum + r.failed, 0),
  };
}

function round2(value: number): number {
  return Math.round(value * 100) / 100;
}

function round3(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = 1;
});
