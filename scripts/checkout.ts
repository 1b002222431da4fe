import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** The folder of this checkout, whether the script runs from its source or from dist. */
export const root = resolve(__dirname, basename(dirname(__dirname)) === 'dist' ? '../..' : '..');

/** Files that the commands keep between runs: private servers, keys, logs. Never committed. */
export const stateFolder = join(root, '.sluice');

/** Writes progress to stderr: stdout is for a command's result. */
export const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** Loads the operator's own settings; existing environment variables have precedence. */
export function loadDotEnv(): void {
  const file = join(root, '.env');
  if (existsSync(file)) process.loadEnvFile(file);
}

/** Runs a command's main function; its error becomes one message and exit code 1. */
export function runMain(main: () => Promise<number | void>): void {
  main().then(
    (code) => process.exit(code ?? 0),
    (error: unknown) => {
      say(error instanceof Error ? error.message : String(error));
      process.exit(1);
    },
  );
}
