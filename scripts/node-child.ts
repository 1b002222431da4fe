import { spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';

/** Node sometimes hangs in the clean-up of its own exit. */
const LONGEST_GOODBYE_MS = 60_000;
const LOOKS = 60;

/** How to know that a run is over although its process may stay. */
export interface Goodbye {
  /**
   * Returns whether the work is done: the process then has some time to exit, and is killed afterwards, which counts as
   * exit code 0.
   */
  readonly isDone: () => boolean;
  /** A minute where absent. */
  readonly longestMs?: number;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Runs Node in the foreground and returns its exit code. The child handles signals: it gets those of the terminal
 * directly, one that was sent to this process is forwarded, and this process stays to clean up.
 */
export async function runNode(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  stdio: StdioOptions = 'inherit',
  { isDone, longestMs = LONGEST_GOODBYE_MS }: Goodbye = { isDone: () => false },
): Promise<number> {
  const child = spawn(process.execPath, args, { stdio, env: environment });
  const pass = (signal: NodeJS.Signals): void => void child.kill(signal);
  for (const signal of SIGNALS) process.on(signal, pass);
  let looksWhileDone = 0;
  const hasStayed = (): boolean => looksWhileDone >= LOOKS;
  const watch = setInterval(() => {
    if (isDone()) looksWhileDone += 1;
    if (hasStayed()) child.kill('SIGKILL');
  }, longestMs / LOOKS);
  try {
    const [code] = (await once(child, 'exit')) as [number | null];
    return code ?? (hasStayed() ? 0 : 1);
  } finally {
    clearInterval(watch);
    for (const signal of SIGNALS) process.off(signal, pass);
  }
}
