import { spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Runs Node in the foreground and answers its exit code. Signals are left to it: the terminal's reach it anyway, one
 * that was sent to us is passed on, and we stay to tidy up after it.
 */
export async function runNode(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  stdio: StdioOptions = 'inherit',
): Promise<number> {
  const child = spawn(process.execPath, args, { stdio, env: environment });
  const pass = (signal: NodeJS.Signals): void => void child.kill(signal);
  for (const signal of SIGNALS) process.on(signal, pass);
  try {
    const [code] = (await once(child, 'exit')) as [number | null];
    return code ?? 1;
  } finally {
    for (const signal of SIGNALS) process.off(signal, pass);
  }
}
