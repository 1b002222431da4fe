import { spawn } from 'node:child_process';

export interface CommandResult {
  readonly ok: boolean;
  readonly stdout: string;
  /** Both streams, for a message. */
  readonly output: string;
}

export interface CommandOptions {
  readonly folder?: string;
  readonly timeoutMs: number;
  readonly environment?: NodeJS.ProcessEnv;
}

/** Runs a program to its end; one that cannot be started or does not end in time has failed. */
export function runCommand(
  command: string,
  args: readonly string[],
  { folder, timeoutMs, environment }: CommandOptions,
): Promise<CommandResult> {
  return new Promise((done) => {
    const child = spawn(command, args, {
      cwd: folder,
      env: environment ?? process.env,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    });
    let stdout = '';
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      output += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.once('error', (error) => done({ ok: false, stdout, output: error.message }));
    child.once('close', (code) => done({ ok: code === 0, stdout, output }));
  });
}

export const lastLineOf = (text: string): string => text.trimEnd().split('\n').at(-1) ?? '';
