import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface ProgramSetting {
  readonly folder: string;
  readonly environment: NodeJS.ProcessEnv;
  /** It is killed then. */
  readonly timeoutMs: number;
}

export interface Ran {
  /** Null for a program that was killed. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program of a client to its end, without input. */
export async function runProgram(
  file: string,
  args: readonly string[],
  { folder, environment, timeoutMs }: ProgramSetting,
): Promise<Ran> {
  const child = spawn(file, args, {
    cwd: folder,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  });
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text;
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...said };
}
