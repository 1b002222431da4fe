import { spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';

/** Node has been seen to turn for ever in the clean-up of its own exit. */
const LONGEST_GOODBYE_MS = 60_000;
const LOOK_EVERY_MS = 1_000;

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Runs Node in the foreground and answers its exit code. Signals are left to it: the terminal's reach it anyway, one
 * that was sent to us is passed on, and we stay to tidy up after it.
 */
export async function runNode(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  stdio: StdioOptions = 'inherit',
  isDone: () => boolean = () => false,
): Promise<number> {
  const child = spawn(process.execPath, args, { stdio, env: environment });
  const pass = (signal: NodeJS.Signals): void => void child.kill(signal);
  for (const signal of SIGNALS) process.on(signal, pass);
  let doneMs = 0;
  const watch = setInterval(() => {
    if (isDone()) doneMs += LOOK_EVERY_MS;
    if (doneMs >= LONGEST_GOODBYE_MS) child.kill('SIGKILL');
  }, LOOK_EVERY_MS);
  try {
    const [code] = (await once(child, 'exit')) as [number | null];
    return code ?? (doneMs >= LONGEST_GOODBYE_MS ? 0 : 1);
  } finally {
    clearInterval(watch);
    for (const signal of SIGNALS) process.off(signal, pass);
  }
}
