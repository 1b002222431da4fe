import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { hashApiKey } from '@libs/contracts';
import type { BatchKey, BatchOwner, Database } from '@libs/persistence';
import type { Installation } from '../../test/support/installation';
import type { Upstream } from '../../test/support/upstream';
import { storeAcceptedBatch } from './accepted-batch';
import { backendCpuSeconds, backendCpuUsed, cpuSecondsOf } from './cpu-time';
import type { PlainReport, PlainRun } from './plain-loop';

/** One side's turn. */
export interface Round {
  readonly linesPerSecond: number;
  readonly cpuSeconds: {
    readonly caller: number | null;
    readonly upstream: number | null;
    readonly postgres: number | null;
  };
}

/** What both sides run. */
export const MODEL = {
  slug: 'bench/plain',
  provider: 'bench',
  pricing: { prompt: '0.0000001', completion: '0.0000002' },
};
export const SCRIPT = 'plain';
export const BODY_BYTES = 1_024;

const WORKER = 'batch-worker';
const UPSTREAM_MODEL = 'upstream-bench-plain';
const POLL_MS = 20;
const ROUND_TIMEOUT_MS = 300_000;

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
export class DrainRace {
  private readonly workers: string[] = [WORKER];

  constructor(
    private readonly concurrency: number,
    private readonly installation: Installation,
    private readonly upstream: Upstream,
    private readonly loop: ChildProcess,
  ) {}

  /** Starts one more worker, which shares the batches from now on. */
  async addWorker(): Promise<void> {
    const name = `${WORKER}-${this.workers.length + 1}`;
    await this.installation.startApp(WORKER, name);
    this.workers.push(name);
  }

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

  /** One batch of `lines` through the workers, until its last result is committed. */
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
      concurrency: this.concurrency,
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
      worker: sum(this.workers.map((name) => cpuSecondsOf(this.installation.pidOf(name)))),
      upstream: cpuSecondsOf(this.upstream.pid),
      backends: await backendCpuSeconds(this.installation.database),
    };
  }
}

function sum(values: readonly (number | null)[]): number | null {
  return values.reduce((total, value) => (total === null || value === null ? null : total + value), 0);
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
