import { readFileSync } from 'node:fs';

/** Identifies a process, even if a later one has the same id. */
export interface ProcessMark {
  readonly pid: number;
  /** Returns the start time as the kernel counts it; null without /proc. */
  readonly startedAt: string | null;
}

/** Places in /proc/PID/stat, counted from the state on: the name before it is in brackets and may hold spaces. */
const STATE = 0;
const PARENT = 1;
const START_TIME = 19;

function statOf(pid: number): readonly string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

export function markOf(pid: number): ProcessMark {
  return { pid, startedAt: statOf(pid)?.[START_TIME] ?? null };
}

/** Undefined where there is no /proc. */
export function parentOf(pid: number): number | undefined {
  const parent = statOf(pid)?.[PARENT];
  return parent === undefined ? undefined : Number(parent);
}

export function isAlive({ pid, startedAt }: ProcessMark): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  const stat = statOf(pid);
  return (stat?.[START_TIME] ?? null) === startedAt && stat?.[STATE] !== 'Z';
}
