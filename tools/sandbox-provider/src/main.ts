import { readSandboxEnv } from './sandbox.env';
import { startSandbox } from './start-sandbox';

const DRAIN_MS = 5_000;

async function main(): Promise<void> {
  const sandbox = await startSandbox(readSandboxEnv());
  process.stdout.write(`sandbox provider listening on ${sandbox.url}\n`);
  let stopping = false;
  const stop = (): void => {
    if (stopping) process.exit(1);
    stopping = true;
    void sandbox.close(DRAIN_MS).then(() => process.exit(0));
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
