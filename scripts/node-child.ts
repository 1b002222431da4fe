import { spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';

/** Node has been seen to turn for ever in the clean-up of its own exit. */
const LONGEST_GOODBYE_MS = 60_000;
const LOOKS = 60;

/** How to know that a run is over although its process may stay. */
export interface Goodbye {
  /** Whether it has done what it was run for: then it has a while to exit, and is killed, which counts as 0. */
  readonly isDone: () => boolean;
  /** A minute where absent. */
  readonly longestMs?: number;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Runs Node in the foreground and answers its exit code. Signals are left to it: the terminal's reach it anyway, one
 * that was sent to us is passed on, and we stay to tidy up after it.
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
