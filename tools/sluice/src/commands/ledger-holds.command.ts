import { AuditRepository, LedgerHoldsRepository, LedgerRepository } from '@libs/persistence';
import type { Command } from '../command';
import { table } from '../table';

const LIMIT = 100;

/** Lists the holds that `ledger release-hold` may release. */
export const ledgerHolds: Command = {
  name: 'ledger holds',
  summary: 'Show open holds that nothing will resolve: past their time, and their batch or video is over or gone',
  usage: '',
  options: {},
  positionals: [],
  async run(_args, installation) {
    const database = await installation.database();
    const holds = new LedgerHoldsRepository(database, new LedgerRepository(database), new AuditRepository(database));
    const orphans = await holds.findOrphans(LIMIT);
    const data = orphans.map((hold) => ({
      id: hold.id,
      organization_id: hold.organizationId,
      workspace_id: hold.workspaceId,
      amount_usd: hold.amountUsd,
      charged_usd: hold.settledUsd,
      expires_at: hold.expiresAt.toISOString(),
      owner_status: hold.owner,
    }));
    if (data.length === 0) return { data, text: 'There are none.' };
    const rows = data.map((hold) => [
      hold.id,
      hold.owner_status ?? 'gone',
      hold.expires_at,
      hold.amount_usd,
      hold.charged_usd,
      hold.organization_id,
    ]);
    return { data, text: table(['ID', 'OWNER', 'EXPIRED', 'HELD USD', 'CHARGED USD', 'ORGANIZATION'], rows) };
  },
};
