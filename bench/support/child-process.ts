import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';

/** Ticks per second of `/proc/PID/stat`; it is 100 on every Linux that runs Node. */
const TICKS_PER_SECOND = 100;

/** A process that a benchmark started, and what it has used. */
export class BenchProcess {
  private constructor(
    readonly name: string,
    private readonly child: ChildProcess,
  ) {}

  static start(name: string, args: readonly string[], environment: NodeJS.ProcessEnv): BenchProcess {
    const stdio = ['ignore', 'ignore', 'inherit'] as const;
    return new BenchProcess(name, spawn(process.execPath, args, { stdio: [...stdio], env: environment }));
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** User and system time so far, in microseconds. */
  cpuMicros(): number {
    const stat = readFileSync(`/proc/${this.child.pid}/stat`, 'utf8');
    // The name in parentheses may hold spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return ((Number(fields[11]) + Number(fields[12])) * 1_000_000) / TICKS_PER_SECOND;
  }

  /** Memory in use, in mebibytes. */
  residentMebibytes(): number {
    const status = readFileSync(`/proc/${this.child.pid}/status`, 'utf8');
    return Math.round(Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1_024);
  }

  async stop(): Promise<void> {
    if (this.hasEnded) return;
    const exited = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    const timer = setTimeout(() => this.child.kill('SIGKILL'), 10_000);
    await exited;
    clearTimeout(timer);
  }
}

/** Polls until `isReady`; a process that ended will never be ready. */
export async function untilReady(process: BenchProcess, isReady: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!(await isReady())) {
    if (process.hasEnded) throw new Error(`${process.name} ended before it was ready`);
    if (performance.now() > deadline) throw new Error(`${process.name} was not ready within 60 s`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
