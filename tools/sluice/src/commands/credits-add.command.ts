import { randomUUID } from 'node:crypto';
import { GetWorkspace, USD_DECIMAL } from '@libs/contracts';
import { AuditRepository, LedgerRepository, OperatorTopUpsRepository } from '@libs/persistence';
import { optionalId, optionalText, positional, UsageError, type Command, type CommandArguments } from '../command';
import type { Installation } from '../installation';
import { operatorAtWork } from '../operator';
import { allOrganizations, ORGANIZATION_OPTION, organizationOf } from '../organization';

export const creditsAdd: Command = {
  name: 'credits add',
  summary: 'Add credits to an organization, named by itself or by one of its workspaces',
  usage: 'USD [--workspace ID | --organization ID] [--reference TEXT]',
  options: { workspace: { type: 'string' }, reference: { type: 'string' }, ...ORGANIZATION_OPTION },
  positionals: ['USD'],
  async run(args, installation) {
    const amountUsd = positional(args, 0);
    if (!USD_DECIMAL.test(amountUsd) || Number(amountUsd) === 0) {
      throw new UsageError('USD must be a positive amount of US dollars, such as 25 or 2.50');
    }
    const organizationId = await payerOf(args, installation);
    const database = await installation.database();
    const ledger = new LedgerRepository(database);
    const topUps = new OperatorTopUpsRepository(database, ledger, new AuditRepository(database));
    const reference = optionalText(args, 'reference') ?? `top-up-${randomUUID()}`;
    const added = await topUps.add({ organizationId, amountUsd, reference, ...operatorAtWork() });
    const account = await ledger.accountOf(organizationId);
    const what = added ? `Added ${amountUsd} USD.` : 'Nothing added: this reference was counted before.';
    return {
      data: { organization_id: organizationId, added, reference, ...account },
      text: `${what} Balance ${account.balanceUsd} USD, of which ${account.heldUsd} USD are held.`,
    };
  },
};

async function payerOf(args: CommandArguments, installation: Installation): Promise<string> {
  const workspaceId = optionalId(args, 'workspace');
  if (workspaceId === undefined) return organizationOf(args, installation);
  if (optionalId(args, 'organization') !== undefined) throw new UsageError('--workspace or --organization, not both');
  const bus = await installation.bus();
  for (const { id: organizationId } of await allOrganizations(installation)) {
    const found = await bus.call(GetWorkspace, { organizationId, id: workspaceId }).catch((error: unknown) => {
      if (isNotFound(error)) return null;
      throw error;
    });
    if (found !== null) return organizationId;
  }
  throw new UsageError('--workspace names no workspace of this installation');
}

function isNotFound(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'not_found';
}
