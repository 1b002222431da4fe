import type { BenchProcess } from './child-process';

const SAMPLE_EVERY_MS = 20;

export interface Watched<T> {
  readonly result: T;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly idleMebibytes: number;
  readonly peakMebibytes: number;
}

/** How long something took, and what a process used for it. */
export async function watch<T>(process: BenchProcess, run: () => Promise<T>): Promise<Watched<T>> {
  const idleMebibytes = process.residentMebibytes();
  let peakMebibytes = idleMebibytes;
  const timer = setInterval(() => {
    peakMebibytes = Math.max(peakMebibytes, process.residentMebibytes());
  }, SAMPLE_EVERY_MS);
  const [startedMs, startedCpu] = [performance.now(), process.cpuMicros()];
  try {
    const result = await run();
    const seconds = (performance.now() - startedMs) / 1_000;
    const cpuSeconds = (process.cpuMicros() - startedCpu) / 1_000_000;
    return { result, seconds, cpuSeconds, idleMebibytes, peakMebibytes };
  } finally {
    clearInterval(timer);
  }
}
