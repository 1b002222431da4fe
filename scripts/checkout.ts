import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** The folder of this checkout, whether the script runs from its source or from dist. */
export const root = resolve(__dirname, basename(dirname(__dirname)) === 'dist' ? '../..' : '..');

/** What the commands keep between runs: private servers, keys, logs. Never committed. */
export const stateFolder = join(root, '.sluice');

/** Progress goes to stderr: stdout is for a command's result. */
export const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** The operator's own settings; what the environment already holds wins. */
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
