import { AuditRepository, LedgerHoldsRepository, LedgerRepository } from '@libs/persistence';
import { positional, requiredText, UsageError, type Command } from '../command';
import { operatorAtWork } from '../operator';

const HOLD_ID = /^[\w-]{1,200}$/;
const LONGEST_REASON = 500;

/** Releases the amount of a hold that nothing will resolve, and charges what was spent on it. */
export const ledgerReleaseHold: Command = {
  name: 'ledger release-hold',
  summary: 'Release an open hold of `ledger holds`; the audit trail says who did and why',
  usage: 'ID --reason REASON',
  options: { reason: { type: 'string' } },
  positionals: ['ID'],
  async run(args, installation) {
    const id = positional(args, 0);
    if (!HOLD_ID.test(id)) throw new UsageError('ID must be that of a hold, as `ledger holds` shows it');
    const reason = requiredText(args, 'reason');
    if (reason.length > LONGEST_REASON) throw new UsageError(`--reason may have ${LONGEST_REASON} characters`);
    const database = await installation.database();
    const { operator, requestId } = operatorAtWork();
    const holds = new LedgerHoldsRepository(database, new LedgerRepository(database), new AuditRepository(database));
    const isReleased = await holds.release(id, { operator, requestId, reason });
    const data = { id, released: isReleased, operator, request_id: requestId };
    return { data, text: isReleased ? `The hold of ${id} is released.` : `The hold of ${id} was resolved before.` };
  },
};
