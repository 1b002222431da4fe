import { randomUUID } from 'node:crypto';
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
import type { ConnectedInstallation } from '../../tools/sluice/src/installation';

/** The keys and the workspace of a demo organization, as `scripts/seed.ts` prints them. */
export interface DemoKeys {
  readonly api_key: string;
  readonly management_key: string;
  readonly workspace_id: string;
}

const DEMO_CREDITS_USD = '100';

/** Creates an organization with credits, a workspace, an API key and a management key. */
export async function createDemoOrganization(installation: ConnectedInstallation, bus: MessageBus): Promise<DemoKeys> {
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
