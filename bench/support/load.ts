import autocannon from 'autocannon';
import { Pool } from 'undici';
import type { BenchProcess } from './child-process';

export interface Target {
  readonly process: BenchProcess;
  readonly url: string;
  readonly apiKey: string;
  readonly body: string;
}

export interface LatencyReport {
  readonly p50: number;
  readonly p99: number;
}

export interface LoadReport {
  readonly requestsPerSecond: number;
  /** User and system time of the server process. */
  readonly cpuMicrosPerRequest: number;
  readonly latency: LatencyReport;
  /** Answers other than 2xx, and none at all. */
  readonly failed: number;
}

export interface Load {
  readonly connections: number;
  readonly seconds: number;
  /** As many as the server takes when absent. */
  readonly requestsPerSecond?: number;
}

export async function measureLoad(
  target: Target,
  { connections, seconds, requestsPerSecond }: Load,
): Promise<LoadReport> {
  const before = target.process.cpuMicros();
  const result = await autocannon({
    url: target.url,
    method: 'POST',
    headers: headersOf(target),
    body: target.body,
    connections,
    duration: seconds,
    ...(requestsPerSecond !== undefined && { overallRate: requestsPerSecond }),
  });
  const answered = result['2xx'];
  return {
    requestsPerSecond: answered / result.duration,
    cpuMicrosPerRequest: (target.process.cpuMicros() - before) / Math.max(1, answered),
    latency: { p50: result.latency.p50, p99: result.latency.p99 },
    failed: result.non2xx + result.errors + result.timeouts,
  };
}

/** Durations in milliseconds of callers that wait for each answer before they ask again. */
export async function measureLatency(target: Target, connections: number, requests: number): Promise<number[]> {
  const { origin, pathname } = new URL(target.url);
  const pool = new Pool(origin, { connections, pipelining: 1 });
  const durations: number[] = [];
  const caller = async (): Promise<void> => {
    for (let i = 0; i < requests / connections; i += 1) {
      const startedMs = performance.now();
      const answer = await pool.request({
        method: 'POST',
        path: pathname,
        headers: headersOf(target),
        body: target.body,
      });
      await answer.body.dump();
      if (answer.statusCode !== 200) throw new Error(`status ${answer.statusCode} from ${target.url}`);
      durations.push(performance.now() - startedMs);
    }
  };
  await Promise.all(Array.from({ length: connections }, caller));
  await pool.close();
  return durations;
}

function headersOf({ apiKey }: Target): Record<string, string> {
  return { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
}
