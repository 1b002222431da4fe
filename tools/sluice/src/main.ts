import 'reflect-metadata';
import { EnvError } from '@libs/platform';
import { commands } from './commands';
import { ConnectedInstallation } from './installation';
import { failureOf, run } from './run';
import { readSluiceEnv } from './sluice.env';

const output = {
  print: (text: string) => void process.stdout.write(`${text}\n`),
  complain: (text: string) => void process.stderr.write(`${text}\n`),
};

async function main(): Promise<number> {
  const installation = new ConnectedInstallation(readSluiceEnv());
  try {
    return await run(process.argv.slice(2), commands, installation, output);
  } finally {
    await installation.close();
  }
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    output.complain(error instanceof EnvError ? error.message : `sluice failed: ${String(error)}`);
    process.exitCode = failureOf(process.argv.slice(2), commands);
  },
);
