import { readdirSync, readFileSync } from 'node:fs';

const PAGE_BYTES = 4_096;
const SAMPLE_MS = 5;
const MIB = 1024 * 1024;
/** Linux counts processor time in hundredths of a second. */
const TICK_MS = 10;

/** Returns the children of a process, by their ids. */
export function childrenOf(pid: number): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === pid)
    .map(Number);
}

function parentOf(pid: string): number | null {
  const fields = textOf(`/proc/${pid}/stat`);
  // The name of the program is in parentheses and may hold blanks.
  return fields === null ? null : Number(fields.slice(fields.lastIndexOf(')') + 2).split(' ')[1]);
}

/** Returns what a process has in memory, in bytes; 0 for one that is gone. */
function residentBytes(pid: number): number {
  return Number(textOf(`/proc/${pid}/statm`)?.split(' ')[1] ?? 0) * PAGE_BYTES;
}

/** Returns the processor time of a process and of its children that have ended, in milliseconds; 0 if it is gone. */
function cpuMs(pid: number): number {
  const fields = textOf(`/proc/${pid}/stat`);
  if (fields === null) return 0;
  const ticks = fields
    .slice(fields.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15)
    .map(Number);
  return ticks.reduce((sum, each) => sum + each, 0) * TICK_MS;
}

/** Returns null for a process that has ended meanwhile. */
function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}

/** Measures a process and its children together, every few milliseconds. */
export class TreeMeter {
  readonly #timer: NodeJS.Timeout;
  readonly #startBytes: number;
  readonly #startMs: number;
  #peakBytes: number;

  constructor(private readonly pid: number) {
    this.#startBytes = this.#peakBytes = this.#sumOf(residentBytes);
    this.#startMs = this.#sumOf(cpuMs);
    this.#timer = setInterval(
      () => (this.#peakBytes = Math.max(this.#peakBytes, this.#sumOf(residentBytes))),
      SAMPLE_MS,
    );
  }

  /** Ends the measurement. Returns by how many MiB the processes grew at most, and their processor time. */
  stop(): { readonly growthMib: number; readonly cpuMs: number } {
    clearInterval(this.#timer);
    return { growthMib: (this.#peakBytes - this.#startBytes) / MIB, cpuMs: this.#sumOf(cpuMs) - this.#startMs };
  }

  #sumOf(measure: (pid: number) => number): number {
    return [this.pid, ...childrenOf(this.pid)].reduce((sum, pid) => sum + measure(pid), 0);
  }
}
