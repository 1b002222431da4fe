import { randomUUID } from 'node:crypto';
import { FindOwnCredentials } from '@libs/contracts';
import { runBenchmark } from './support/comparison';
import { startInstallation } from './support/installation';
import { rounded } from './support/statistics';

/**
 * How many questions one process asks the credentials app per second: CALLERS at a time ask for the credentials of a
 * workspace that has none, which is one query, so what is measured is the way there and back.
 */
const SECONDS = Number(process.env.BENCH_SECONDS ?? 10);
const CALLERS = Number(process.env.BENCH_CALLERS ?? 64);
const WARM_UP_MS = 3_000;

runBenchmark(async () => {
  const installation = await startInstallation({ creditUsd: '1' });
  const bus = await installation.askAs('gateway');
  const latenciesMs: number[] = [];
  const ask = async (untilMs: number): Promise<number> => {
    let count = 0;
    while (performance.now() < untilMs) {
      const startedMs = performance.now();
      await bus.call(FindOwnCredentials, { organizationId: randomUUID(), workspaceId: randomUUID(), offset: 0 });
      latenciesMs.push(performance.now() - startedMs);
      count += 1;
    }
    return count;
  };
  const askAll = async (forMs: number, callers: number): Promise<number> => {
    const untilMs = performance.now() + forMs;
    const counts = await Promise.all(Array.from({ length: callers }, () => ask(untilMs)));
    return counts.reduce((sum, count) => sum + count, 0);
  };
  try {
    await askAll(WARM_UP_MS, CALLERS);
    const before = process.cpuUsage();
    const calls = await askAll(SECONDS * 1_000, CALLERS);
    const { user, system } = process.cpuUsage(before);
    latenciesMs.length = 0;
    await askAll(SECONDS * 500, 1);
    const sorted = latenciesMs.toSorted((one, other) => one - other);
    return {
      benchmark: 'calls',
      callers: CALLERS,
      calls_per_second: rounded(calls / SECONDS, 0),
      asker_cpu_micros_per_call: rounded((user + system) / calls, 1),
      alone_p50_ms: rounded(sorted[Math.floor(sorted.length / 2)] ?? 0, 2),
      alone_p99_ms: rounded(sorted[Math.floor(sorted.length * 0.99)] ?? 0, 2),
    };
  } finally {
    await installation.stop();
  }
});
