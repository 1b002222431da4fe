/**
 * How fast one batch worker drains a batch, beside a plain loop of the same calls that keeps nothing: same upstream,
 * same bodies, same number of calls at a time, in turns. The rate is from the first call that reaches the upstream
 * to the last committed result, or the last parsed answer.
 *
 * Options: --lines 20000 --rounds 3 --concurrency 64 --latency 0 (of the upstream, in milliseconds)
 * --profile FOLDER (a CPU profile of the worker is left there).
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { hashApiKey } from '@libs/contracts';
import type { BatchKey, BatchOwner, Database } from '@libs/persistence';
import { runMain, say } from '../scripts/checkout';
import { catalogueOf } from '../test/support/catalogue';
import { Installation } from '../test/support/installation';
import { Upstream } from '../test/support/upstream';
import { storeAcceptedBatch } from './support/accepted-batch';
import { backendCpuSeconds, backendCpuUsed, cpuSecondsOf } from './support/cpu-time';
import type { PlainReport, PlainRun } from './support/plain-loop';
import { median, rounded } from './support/statistics';

interface Options {
  readonly lines: number;
  readonly rounds: number;
  readonly concurrency: number;
  readonly latencyMs: number;
  readonly profile: string | undefined;
}

interface Round {
  readonly linesPerSecond: number;
  readonly cpuSeconds: {
    readonly caller: number | null;
    readonly upstream: number | null;
    readonly postgres: number | null;
  };
}

const MODEL = { slug: 'bench/plain', provider: 'bench', pricing: { prompt: '0.0000001', completion: '0.0000002' } };
const UPSTREAM_MODEL = 'upstream-bench-plain';
const SCRIPT = 'plain';
const BODY_BYTES = 1_024;
const WARM_UP_LINES = 10_000;
const POLL_MS = 20;
const ROUND_TIMEOUT_MS = 300_000;

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      lines: { type: 'string', default: '20000' },
      rounds: { type: 'string', default: '3' },
      concurrency: { type: 'string', default: '64' },
      latency: { type: 'string', default: '0' },
      profile: { type: 'string' },
    },
  });
  return {
    lines: readCount('lines', values.lines, 1),
    rounds: readCount('rounds', values.rounds, 1),
    concurrency: readCount('concurrency', values.concurrency, 1),
    latencyMs: readCount('latency', values.latency, 0),
    profile: values.profile,
  };
}

function readCount(name: string, text: string, least: number): number {
  const count = Number(text);
  if (Number.isSafeInteger(count) && count >= least) return count;
  throw new Error(`--${name} must be an integer of at least ${least}`);
}

/** A chat of about one kilobyte, a little different each time. */
function bodyOf(index: number): Buffer {
  const head = `{"model":"${MODEL.slug}","max_tokens":16,"messages":[{"role":"user","content":"Line ${index}: `;
  const tail = '"}]}';
  return Buffer.from(head + 'lorem ipsum '.repeat(100).slice(0, BODY_BYTES - head.length - tail.length) + tail);
}

async function until<T>(what: string, ask: () => Promise<T | null>): Promise<T> {
  const deadline = performance.now() + ROUND_TIMEOUT_MS;
  for (;;) {
    const answer = await ask();
    if (answer !== null) return answer;
    if (performance.now() > deadline) throw new Error(`waited too long for ${what}`);
    await delay(POLL_MS);
  }
}

async function firstCallMs(upstream: Upstream): Promise<number> {
  return until('the first call', async () => (await upstream.counts()).firstCallMs);
}

/** The sides take turns, so that what else the machine does falls on both. */
class Race {
  constructor(
    private readonly options: Options,
    private readonly installation: Installation,
    private readonly upstream: Upstream,
    private readonly loop: ChildProcess,
  ) {}

  /** The demo workspace, with its key. */
  private async owner(): Promise<BatchOwner> {
    const apiKeyHash = hashApiKey(this.installation.seed.apiKey);
    const row = await this.installation.database.firstRow<{ organization_id: string; workspace_id: string }>({
      sql: 'SELECT organization_id, workspace_id FROM api_keys WHERE hash = $1',
      values: [apiKeyHash],
    });
    if (row === null) throw new Error('the demo key is not there');
    return { organizationId: row.organization_id, workspaceId: row.workspace_id, apiKeyHash };
  }

  /** One batch of `lines` through the worker, until its last result is committed. */
  async worker(lines: number): Promise<Round> {
    const { database } = this.installation;
    const bodies = Array.from({ length: lines }, (_, index) => bodyOf(index));
    await this.upstream.forget();
    const key = await storeAcceptedBatch(database, {
      endpoint: '/v1/chat/completions',
      model: MODEL.slug,
      provider: MODEL.provider,
      upstreamModel: UPSTREAM_MODEL,
      bodies,
      owner: await this.owner(),
    });
    const startMs = await firstCallMs(this.upstream);
    const before = await this.workerCpu();
    await until('the last result', async () => ((await stepOf(database, key)) === 'in_progress' ? null : true));
    const endMs = Date.now();
    const after = await this.workerCpu();
    const { completed, failed } = await until('the end of the batch', () => findOutcome(database, key));
    if (completed !== lines) throw new Error(`${completed} of ${lines} lines were answered, ${failed} failed`);
    return {
      linesPerSecond: (lines * 1_000) / (endMs - startMs),
      cpuSeconds: {
        caller: difference(before.worker, after.worker),
        upstream: difference(before.upstream, after.upstream),
        postgres: backendCpuUsed(before.backends, after.backends),
      },
    };
  }

  /** The same calls by the loop. */
  async plain(lines: number): Promise<Round> {
    const bodies = Array.from({ length: Math.min(lines, 1_000) }, (_, index) => bodyOf(index).toString());
    await this.upstream.forget();
    const upstreamBefore = cpuSecondsOf(this.upstream.pid);
    const run: PlainRun = {
      baseUrl: this.upstream.baseUrl(SCRIPT),
      path: '/chat/completions',
      concurrency: this.options.concurrency,
      bodies,
      total: lines,
    };
    this.loop.send(run);
    const [report] = (await once(this.loop, 'message')) as [PlainReport];
    if (report.answered !== lines) throw new Error(`${report.answered} of ${lines} calls were answered`);
    const startMs = await firstCallMs(this.upstream);
    return {
      linesPerSecond: (lines * 1_000) / (report.endMs - startMs),
      cpuSeconds: {
        caller: report.cpuSeconds,
        upstream: difference(upstreamBefore, cpuSecondsOf(this.upstream.pid)),
        postgres: null,
      },
    };
  }

  private async workerCpu(): Promise<{
    worker: number | null;
    upstream: number | null;
    backends: ReadonlyMap<number, number>;
  }> {
    return {
      worker: cpuSecondsOf(this.installation.pidOf('batch-worker')),
      upstream: cpuSecondsOf(this.upstream.pid),
      backends: await backendCpuSeconds(this.installation.database),
    };
  }
}

function difference(before: number | null, after: number | null): number | null {
  return before === null || after === null ? null : after - before;
}

async function stepOf(database: Database, key: BatchKey): Promise<string> {
  const sql = 'SELECT status FROM batches WHERE id = $1';
  const row = await database.firstRow<{ status: string }>({ name: 'bench-step', sql, values: [key.id] });
  return row?.status ?? 'missing';
}

async function findOutcome(database: Database, key: BatchKey): Promise<{ completed: number; failed: number } | null> {
  return database.firstRow<{ completed: number; failed: number }>({
    sql: 'SELECT completed, failed FROM batches WHERE id = $1 AND finalized_at IS NOT NULL',
    values: [key.id],
  });
}

function summaryOf(rounds: readonly Round[]): object {
  const middle = (pick: (round: Round) => number | null): number | null => {
    const values = rounds.map(pick).filter((value) => value !== null);
    return values.length === 0 ? null : rounded(median(values), 2);
  };
  return {
    lines_per_second: rounded(median(rounds.map(({ linesPerSecond }) => linesPerSecond)), 0),
    rounds: rounds.map(({ linesPerSecond }) => rounded(linesPerSecond, 0)),
    cpu_seconds: {
      caller: middle(({ cpuSeconds }) => cpuSeconds.caller),
      upstream: middle(({ cpuSeconds }) => cpuSeconds.upstream),
      postgres_backends: middle(({ cpuSeconds }) => cpuSeconds.postgres),
    },
  };
}

async function race(options: Options, runner: Race): Promise<object> {
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
  };
}

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
    const report = await race(options, new Race(options, installation, upstream, loop));
    process.stdout.write(`${JSON.stringify(report)}\n`);
  } finally {
    loop.disconnect();
    await installation.stop();
    await upstream.stop();
  }
}

runMain(main);
