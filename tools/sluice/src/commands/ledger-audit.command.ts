import { LedgerRepository } from '@libs/persistence';
import type { Command } from '../command';
import { table } from '../table';

/** Replays every movement of money and compares it with the accounts; a difference is exit code 1. */
export const ledgerAudit: Command = {
  name: 'ledger audit',
  summary: 'Prove that the books balance, to the last digit',
  usage: '',
  options: {},
  positionals: [],
  async run(_args, installation) {
    const drift = await new LedgerRepository(await installation.database()).audit();
    if (drift.length === 0) return { data: { drift: '0', accounts: [] }, text: 'drift 0' };
    const rows = drift.map((account) => [account.accountId, account.balanceDriftUsd, account.heldDriftUsd]);
    return {
      data: { drift: 'not zero', accounts: drift },
      text: `The books do not balance.\n\n${table(['ACCOUNT', 'BALANCE OFF BY', 'HELD OFF BY'], rows)}`,
      failed: true,
    };
  },
};
