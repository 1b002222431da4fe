/**
 * Measures how fast one batch worker runs a batch, and a plain loop that makes the same calls and stores nothing: same
 * upstream, same bodies, same number of calls at a time, in turns. The rate is from the first call that reaches the
 * upstream to the last committed result, or the last parsed answer. With a latency it is also compared with the most
 * that so many calls at a time can reach, and with more workers with what one of them does.
 *
 * Options: --lines 20000 --rounds 3 --concurrency 64 --latency 0 (of the upstream, in milliseconds) --workers 1
 * --profile FOLDER (a CPU profile of the worker is left there).
 */
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runMain, say } from '../scripts/checkout';
import { catalogueOf } from '../test/support/catalogue';
import { Installation } from '../test/support/installation';
import { Upstream } from '../test/support/upstream';
import { BODY_BYTES, DrainRace, MODEL, SCRIPT, type Round } from './support/drain-race';
import { median, rounded } from './support/statistics';

interface Options {
  readonly lines: number;
  readonly rounds: number;
  readonly concurrency: number;
  readonly latencyMs: number;
  readonly workers: number;
  readonly profile: string | undefined;
}

const WARM_UP_LINES = 10_000;

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      lines: { type: 'string', default: '20000' },
      rounds: { type: 'string', default: '3' },
      concurrency: { type: 'string', default: '64' },
      latency: { type: 'string', default: '0' },
      workers: { type: 'string', default: '1' },
      profile: { type: 'string' },
    },
  });
  return {
    lines: readCount('lines', values.lines, 1),
    rounds: readCount('rounds', values.rounds, 1),
    concurrency: readCount('concurrency', values.concurrency, 1),
    latencyMs: readCount('latency', values.latency, 0),
    workers: readCount('workers', values.workers, 1),
    profile: values.profile,
  };
}

function readCount(name: string, text: string, least: number): number {
  const count = Number(text);
  if (Number.isSafeInteger(count) && count >= least) return count;
  throw new Error(`--${name} must be an integer of at least ${least}`);
}

function summaryOf(rounds: readonly Round[]): object {
  const middle = (pick: (round: Round) => number | null): number | null => {
    const values = rounds.map(pick).filter((value) => value !== null);
    return values.length === 0 ? null : rounded(median(values), 2);
  };
  return {
    lines_per_second: rounded(rateOf(rounds), 0),
    rounds: rounds.map(({ linesPerSecond }) => rounded(linesPerSecond, 0)),
    cpu_seconds: {
      caller: middle(({ cpuSeconds }) => cpuSeconds.caller),
      upstream: middle(({ cpuSeconds }) => cpuSeconds.upstream),
      postgres_backends: middle(({ cpuSeconds }) => cpuSeconds.postgres),
    },
  };
}

async function race(options: Options, runner: DrainRace): Promise<object> {
  await runner.worker(Math.min(options.lines, WARM_UP_LINES));
  await runner.plain(Math.min(options.lines, WARM_UP_LINES));
  const [worker, plain]: [Round[], Round[]] = [[], []];
  for (let round = 1; round <= options.rounds; round += 1) {
    const [one, other] = [await runner.worker(options.lines), await runner.plain(options.lines)];
    worker.push(one);
    plain.push(other);
    const rates = [one, other].map(({ linesPerSecond }) => Math.round(linesPerSecond));
    say(`round ${round}: worker ${rates[0]} lines/s, plain loop ${rates[1]} calls/s`);
  }
  const ratios = worker.map(
    ({ linesPerSecond }, round) => linesPerSecond / (plain[round]?.linesPerSecond ?? Number.NaN),
  );
  const cpuOf = (rounds: readonly Round[]): number =>
    median(rounds.map(({ cpuSeconds }) => cpuSeconds.caller ?? Number.NaN));
  return {
    benchmark: 'batch-drain',
    lines: options.lines,
    body_bytes: BODY_BYTES,
    concurrency: options.concurrency,
    latency_ms: options.latencyMs,
    worker: summaryOf(worker),
    plain_loop: summaryOf(plain),
    ratio: rounded(median(ratios), 3),
    ratios: ratios.map((ratio) => rounded(ratio, 3)),
    // The same comparison in CPU time of the calling process, on which a busy machine has less influence.
    caller_cpu_ratio: rounded(cpuOf(plain) / cpuOf(worker), 3),
    ...ofIdeal(options, worker, 1),
    ...(options.workers > 1 && { together: await scale(options, runner, worker) }),
  };
}

/** Every slot calls again at once when its call is over: more is impossible. */
function ofIdeal({ concurrency, latencyMs }: Options, rounds: readonly Round[], workers: number): object {
  if (latencyMs === 0) return {};
  const idealPerSecond = (workers * concurrency * 1_000) / latencyMs;
  return {
    ideal_lines_per_second: rounded(idealPerSecond, 0),
    of_ideal: rounded(rateOf(rounds) / idealPerSecond, 3),
  };
}

/** The same with all workers, each of the same concurrency. */
async function scale(options: Options, runner: DrainRace, one: readonly Round[]): Promise<object> {
  const { lines, workers } = options;
  for (let count = 1; count < workers; count += 1) await runner.addWorker();
  const all: Round[] = [];
  await runner.worker(Math.min(lines, WARM_UP_LINES));
  for (let round = 1; round <= options.rounds; round += 1) {
    all.push(await runner.worker(lines));
    say(`round ${round}: ${workers} workers ${Math.round(all.at(-1)?.linesPerSecond ?? Number.NaN)} lines/s`);
  }
  return {
    workers,
    ...summaryOf(all),
    times_one_worker: rounded(rateOf(all) / rateOf(one), 2),
    ...ofIdeal(options, all, workers),
  };
}

const rateOf = (rounds: readonly Round[]): number => median(rounds.map(({ linesPerSecond }) => linesPerSecond));

async function main(): Promise<void> {
  const options = readOptions();
  const upstream = await Upstream.start({ [SCRIPT]: { latencyMs: options.latencyMs } });
  const loop = fork(join(__dirname, 'support/plain-loop.js'), { execArgv: [] });
  const installation = await Installation.start({
    // The worker asks it whether the key of a batch may still be used.
    apps: ['auth', 'batch-worker'],
    catalogue: catalogueOf([{ ...MODEL, baseUrl: upstream.baseUrl(SCRIPT), maxConcurrency: options.concurrency }]),
    environment: {
      BATCH_CONCURRENCY: String(options.concurrency),
      LOG_LEVEL: 'warn',
      ...(options.profile !== undefined && {
        NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${JSON.stringify(options.profile)}`,
      }),
    },
  });
  try {
    const report = await race(options, new DrainRace(options.concurrency, installation, upstream, loop));
    process.stdout.write(`${JSON.stringify(report)}\n`);
  } finally {
    loop.disconnect();
    await installation.stop();
    await upstream.stop();
  }
}

runMain(main);
