/**
 * Creates a demo organization with a workspace, an API key, a management key and credits, for a development
 * installation. With `--file` the keys are stored there and returned again as long as they work. Prints one JSON line:
 * { api_key, management_key, workspace_id }.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { hashApiKey, VerifyKey } from '@libs/contracts';
import type { MessageBus } from '@libs/platform';
import { ConnectedInstallation } from '../tools/sluice/src/installation';
import { readSluiceEnv } from '../tools/sluice/src/sluice.env';
import { runMain } from './checkout';
import { createDemoOrganization, type DemoKeys } from './development/demo-organization';

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { file: { type: 'string' } } });
  const installation = new ConnectedInstallation(readSluiceEnv());
  try {
    const bus = await installation.bus();
    const kept = values.file === undefined ? null : await readKept(values.file, bus);
    const seed = kept ?? (await createDemoOrganization(installation, bus));
    if (kept === null && values.file !== undefined) {
      writeFileSync(values.file, JSON.stringify(seed), { mode: 0o600 });
    }
    process.stdout.write(`${JSON.stringify(seed)}\n`);
  } finally {
    await installation.close();
  }
}

/** Returns the keys of an earlier run, unless their database no longer exists. */
async function readKept(file: string, bus: MessageBus): Promise<DemoKeys | null> {
  if (!existsSync(file)) return null;
  const seed = JSON.parse(readFileSync(file, 'utf8')) as DemoKeys;
  const keys = [seed.api_key, seed.management_key];
  const answers = await Promise.all(keys.map((key) => bus.call(VerifyKey, { keyHash: hashApiKey(key) })));
  return answers.every(({ principal }) => principal !== null) ? seed : null;
}

runMain(main);
