import { readFileSync } from 'node:fs';
import { isAlive, markOf, parentOf } from '../services/processes';

/** A Ctrl-C arrives twice: from the terminal, and passed on by npm. */
const SAME_SIGNAL_MS = 1_000;
const NPM_CHECK_MS = 1_000;

function isShellOfNpm(pid: number): boolean {
  try {
    return /^(\S*\/)?sh\0-c\0/.test(readFileSync(`/proc/${pid}/cmdline`, 'latin1'));
  } catch {
    return false;
  }
}

/** npm runs a script through `sh -c`, which some shells replace by the script and others keep as a parent. */
function npmPid(): number {
  const parent = process.ppid;
  return isShellOfNpm(parent) ? (parentOf(parent) ?? parent) : parent;
}

/**
 * Calls `first` at the first SIGINT, SIGTERM or SIGHUP, and `again` at a later one. Under npm it also calls `first`
 * when npm itself was killed, because then no process passes signals on.
 */
export function onShutdownSignal(first: (why: string) => void, again: () => void): void {
  let firstAt: number | undefined;
  const shutDown = (why: string): void => {
    const now = performance.now();
    if (firstAt === undefined) {
      firstAt = now;
      first(why);
    } else if (now - firstAt > SAME_SIGNAL_MS) {
      again();
    }
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => shutDown(signal));
  if (process.env.npm_lifecycle_event === undefined) return;
  const npm = markOf(npmPid());
  const watch = setInterval(() => {
    if (isAlive(npm)) return;
    clearInterval(watch);
    shutDown('npm is gone');
  }, NPM_CHECK_MS);
  watch.unref();
}
