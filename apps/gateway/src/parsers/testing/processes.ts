import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const LONGEST_MS = 60_000;
const POLL_MS = 5;

/** Whether a process exists, also as a zombie whose parent has not read its exit code. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Returns the processor time that a process has used, in hundredths of a second. */
export function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

/** Resolves when the condition holds. @throws Error after a minute */
export async function until(condition: () => boolean): Promise<void> {
  const endMs = performance.now() + LONGEST_MS;
  while (!condition()) {
    if (performance.now() > endMs) throw new Error('It did not come about within a minute');
    await delay(POLL_MS);
  }
}
