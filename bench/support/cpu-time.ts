import { readFileSync } from 'node:fs';
import type { Database } from '@libs/persistence';

/** Linux counts CPU time for programs in hundredths of a second. */
const TICKS_PER_SECOND = 100;
/** Places in /proc/PID/stat, counted from the state on: the name before it is in brackets and may hold spaces. */
const USER_TIME = 11;
const SYSTEM_TIME = 12;

/** CPU seconds, user and system, that a process has used so far; null where there is no /proc or no such process. */
export function cpuSecondsOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[USER_TIME]) + Number(fields[SYSTEM_TIME])) / TICKS_PER_SECOND;
  } catch {
    return null;
  }
}

/** CPU seconds by backend of the database's server; empty when that server runs on another machine. */
export async function backendCpuSeconds(database: Database): Promise<Map<number, number>> {
  const rows = await database.rows<{ pid: number }>({
    sql: 'SELECT pid FROM pg_stat_activity WHERE datname = current_database()',
  });
  const seconds = new Map<number, number>();
  for (const { pid } of rows) {
    const used = isPostgres(pid) ? cpuSecondsOf(pid) : null;
    if (used !== null) seconds.set(pid, used);
  }
  return seconds;
}

/** What the backends used between two looks; one that came in between counts whole. Null when none was seen. */
export function backendCpuUsed(before: ReadonlyMap<number, number>, after: ReadonlyMap<number, number>): number | null {
  if (after.size === 0) return null;
  let used = 0;
  for (const [pid, seconds] of after) used += seconds - (before.get(pid) ?? 0);
  return used;
}

/** Checks the name, as the process id of a server on another machine may be another process here. */
function isPostgres(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith('postgres');
  } catch {
    return false;
  }
}
