/**
 * Creates a demo organization with a workspace, an API key, a management key and credits, for a development
 * installation. With `--file` the keys are stored there and returned again as long as they work. Prints one JSON line:
 * { api_key, management_key, workspace_id }.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import {
  CreateKey,
  CreateOrganization,
  hashApiKey,
  labelApiKey,
  mintApiKey,
  VerifyKey,
  type ApiKeyKind,
} from '@libs/contracts';
import { LedgerRepository } from '@libs/persistence';
import type { MessageBus } from '@libs/platform';
import { ConnectedInstallation } from '../tools/sluice/src/installation';
import { readSluiceEnv } from '../tools/sluice/src/sluice.env';
import { runMain } from './checkout';

interface Seed {
  readonly api_key: string;
  readonly management_key: string;
  readonly workspace_id: string;
}

const DEMO_CREDITS_USD = '100';

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { file: { type: 'string' } } });
  const installation = new ConnectedInstallation(readSluiceEnv());
  try {
    const bus = await installation.bus();
    const kept = values.file === undefined ? null : await readKept(values.file, bus);
    const seed = kept ?? (await plant(installation, bus));
    if (kept === null && values.file !== undefined) {
      writeFileSync(values.file, JSON.stringify(seed), { mode: 0o600 });
    }
    process.stdout.write(`${JSON.stringify(seed)}\n`);
  } finally {
    await installation.close();
  }
}

/** Returns the keys of an earlier run, unless their database no longer exists. */
async function readKept(file: string, bus: MessageBus): Promise<Seed | null> {
  if (!existsSync(file)) return null;
  const seed = JSON.parse(readFileSync(file, 'utf8')) as Seed;
  const keys = [seed.api_key, seed.management_key];
  const answers = await Promise.all(keys.map((key) => bus.call(VerifyKey, { keyHash: hashApiKey(key) })));
  return answers.every(({ principal }) => principal !== null) ? seed : null;
}

async function plant(installation: ConnectedInstallation, bus: MessageBus): Promise<Seed> {
  const organization = await bus.call(CreateOrganization, { name: 'Demo' });
  const create = async (kind: ApiKeyKind): Promise<string> => {
    const key = mintApiKey(installation.serviceName, kind);
    await bus.call(CreateKey, {
      organizationId: organization.id,
      kind,
      hash: hashApiKey(key),
      label: labelApiKey(key),
      name: `Demo ${kind} key`,
    });
    return key;
  };
  const [apiKey, managementKey] = [await create('api'), await create('management')];
  const ledger = new LedgerRepository(await installation.database());
  await ledger.topUp(organization.id, DEMO_CREDITS_USD, `top-up-${randomUUID()}`);
  const { principal } = await bus.call(VerifyKey, { keyHash: hashApiKey(apiKey) });
  if (principal?.workspaceId == null) throw new Error('the demo key belongs to no workspace');
  return { api_key: apiKey, management_key: managementKey, workspace_id: principal.workspaceId };
}

runMain(main);
