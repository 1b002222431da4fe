import { join, resolve } from 'node:path';
import { freePorts } from '../../scripts/services/ports';
import { answers, BenchProcess, untilReady } from './child-process';
import { startInstallation, type Installation } from './installation';
import { measureLatency, measureLoad, type LatencyReport, type Load, type LoadReport, type Target } from './load';
import { median, rounded } from './statistics';

/** A gateway, and a process that only passes bytes through: same framework, same HTTP client. */
export interface Contest {
  readonly installation: Installation;
  readonly bare: { readonly process: BenchProcess; readonly url: string };
  readonly stop: () => Promise<void>;
}

export interface ContestOptions {
  readonly catalogue?: Parameters<typeof startInstallation>[0]['catalogue'];
}

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 4);
const ROUND_SECONDS = Number(process.env.BENCH_ROUND_SECONDS ?? 5);
const CONNECTIONS = 64;
/** After so many requests V8 has compiled their code; before, a good part of the time is the compiler's. */
const WARM_UP_REQUESTS = 50_000;
/** Low enough for both processes: a busier one wakes up its peers less often, which makes each request cheaper. */
const STEADY_REQUESTS_PER_SECOND = 2_000;
const LOW_LOADS = [1, 4];
const LOW_LOAD_REQUESTS = 3_000;
const TURNS = 6;

export async function startContest({ catalogue }: ContestOptions = {}): Promise<Contest> {
  const profile = process.argv.includes('--profile');
  const nodeFlags = profile ? ['--cpu-prof', `--cpu-prof-dir=${resolve('.sluice/profiles')}`] : [];
  const installation = await startInstallation({ creditUsd: '100000', nodeFlags, catalogue });
  const { upstreamUrl, upstreamKey } = installation;
  const prefix = catalogue?.upstreamPrefix === undefined ? '' : `/${catalogue.upstreamPrefix}`;
  const bare = await startBare(`${upstreamUrl}${prefix}`, upstreamKey, nodeFlags).catch(async (error: unknown) => {
    await installation.stop();
    throw error;
  });
  const stop = async (): Promise<void> => {
    await bare.process.stop();
    await installation.stop();
  };
  return { installation, bare, stop };
}

export async function startBare(
  upstreamUrl: string,
  upstreamKey: string,
  nodeFlags: readonly string[] = [],
): Promise<Contest['bare']> {
  const [port = 0] = await freePorts(1);
  const started = BenchProcess.start('bare', [...nodeFlags, join(__dirname, 'bare-proxy.js')], {
    ...process.env,
    NODE_ENV: 'production',
    PORT: String(port),
    UPSTREAM_URL: upstreamUrl,
    SANDBOX_API_KEY: upstreamKey,
  });
  await untilReady(started, () => answers(`http://127.0.0.1:${port}/health`));
  return { process: started, url: `http://127.0.0.1:${port}/api/v1` };
}

type Targets = Readonly<Record<'gateway' | 'bare', Target>>;

/**
 * Whole answers of both under the same load in turns. Throughput per core is 1 s over the CPU time of the
 * server process per request; latencies come from a few callers that wait for each answer.
 */
export async function compareAnswers(benchmark: string, path: string, body: string): Promise<object> {
  const { installation, bare, stop } = await startContest();
  try {
    const { apiKey } = installation;
    const targets: Targets = {
      gateway: { process: installation.gateway, url: installation.gatewayUrl + path, apiKey, body },
      bare: { process: bare.process, url: bare.url + path, apiKey, body },
    };
    const load = { connections: CONNECTIONS, seconds: ROUND_SECONDS };
    // The gateway last: V8 drops compiled code of a process that is idle for 8 s after a load.
    for (const target of [targets.bare, targets.gateway]) await warmUp(target, load);
    const saturated = await compareLoad(targets, load);
    const steady = await compareLoad(targets, { ...load, requestsPerSecond: STEADY_REQUESTS_PER_SECOND });
    const latencies = [];
    for (const connections of LOW_LOADS) latencies.push(await compareLatency(targets, connections));
    return { benchmark, connections: CONNECTIONS, saturated, steady, low_load: latencies };
  } finally {
    await stop();
  }
}

async function warmUp(target: Target, load: Load): Promise<void> {
  let answered = 0;
  while (answered < WARM_UP_REQUESTS) {
    const { requestsPerSecond } = await measureLoad(target, load);
    if (requestsPerSecond === 0) throw new Error(`no answers from ${target.url}`);
    answered += requestsPerSecond * load.seconds;
  }
}

/** Round by round in turns. */
async function compareLoad(targets: Targets, load: Load): Promise<object> {
  const rounds = { gateway: [] as LoadReport[], bare: [] as LoadReport[] };
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const name of ['gateway', 'bare'] as const) rounds[name].push(await measureLoad(targets[name], load));
  }
  const [gateway, bare] = [summarise(rounds.gateway), summarise(rounds.bare)];
  return {
    gateway,
    bare_pass_through: bare,
    throughput_per_core_ratio: rounded(bare.cpu_micros_per_request / gateway.cpu_micros_per_request, 2),
  };
}

/** Turn by turn, so that what else the machine does falls on both alike. */
async function compareLatency(targets: Targets, connections: number): Promise<object> {
  const all = { gateway: [] as number[], bare: [] as number[] };
  for (let turn = 0; turn < TURNS; turn += 1) {
    for (const name of ['gateway', 'bare'] as const) {
      all[name].push(...(await measureLatency(targets[name], connections, LOW_LOAD_REQUESTS / TURNS)));
    }
  }
  const [gateway, bare] = [percentiles(all.gateway), percentiles(all.bare)];
  return {
    connections,
    gateway_ms: gateway,
    bare_ms: bare,
    added_p50_ms: rounded(gateway.p50 - bare.p50, 3),
    added_p99_ms: rounded(gateway.p99 - bare.p99, 3),
  };
}

export function percentiles(durationsMs: readonly number[]): LatencyReport {
  const sorted = durationsMs.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    rounded(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0, 3);
  return { p50: at(0.5), p99: at(0.99) };
}

function summarise(rounds: readonly LoadReport[]) {
  const middle = (pick: (report: LoadReport) => number): number => median(rounds.map(pick));
  return {
    requests_per_second: Math.round(middle((r) => r.requestsPerSecond)),
    cpu_micros_per_request: Math.round(middle((r) => r.cpuMicrosPerRequest)),
    p50_ms: middle((r) => r.latency.p50),
    p99_ms: middle((r) => r.latency.p99),
    failed: rounds.reduce((sum, r) => sum + r.failed, 0),
  };
}

/** Prints what a benchmark found as one JSON object. */
export function runBenchmark(measure: () => Promise<object>): void {
  measure().then(
    (report) => process.stdout.write(`${JSON.stringify(report)}\n`),
    (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
      process.exitCode = 1;
    },
  );
}
