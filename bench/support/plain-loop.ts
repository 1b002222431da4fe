/**
 * What a batch would take if nothing had to be kept: a program that sends bodies to an upstream, so many at a
 * time, reads each answer and parses it. A process of its own, controlled over IPC.
 */
import { Pool } from 'undici';

export interface PlainRun {
  readonly baseUrl: string;
  readonly path: string;
  readonly concurrency: number;
  /** Sent in turn, `total` in all. */
  readonly bodies: readonly string[];
  readonly total: number;
}

export interface PlainReport {
  /** Milliseconds since the epoch when the last answer was parsed. */
  readonly endMs: number;
  readonly cpuSeconds: number;
  /** Answers that were whole and of status 200. */
  readonly answered: number;
}

export async function runPlainLoop({ baseUrl, path, concurrency, bodies, total }: PlainRun): Promise<PlainReport> {
  const { origin, pathname } = new URL(baseUrl);
  const pool = new Pool(origin, { connections: concurrency, pipelining: 1 });
  const cpuBefore = process.cpuUsage();
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  let next = 0;
  let answered = 0;
  const worker = async (): Promise<void> => {
    while (next < total) {
      const body = bodies[next % bodies.length] ?? '';
      next += 1;
      const response = await pool.request({ method: 'POST', path: pathname + path, headers, body });
      const answer = JSON.parse(await response.body.text()) as { choices?: unknown };
      if (response.statusCode === 200 && answer.choices !== undefined) answered += 1;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  const endMs = performance.timeOrigin + performance.now();
  const { user, system } = process.cpuUsage(cpuBefore);
  await pool.close();
  return { endMs, cpuSeconds: (user + system) / 1_000_000, answered };
}

if (require.main === module) {
  process.on('message', (run: PlainRun) => {
    void runPlainLoop(run).then((report) => process.send?.(report));
  });
  process.once('disconnect', () => process.exit(0));
}
