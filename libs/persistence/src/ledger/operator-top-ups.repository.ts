import { AuditRepository, type OperatorAuditEntry } from '../audit/audit.repository';
import { outcomeOfRow } from '../commit-outcome';
import { Database } from '../database';
import { LedgerRepository } from './ledger.repository';

/** Credits that an operator adds at the command line. */
export interface OperatorTopUp extends Pick<OperatorAuditEntry, 'organizationId' | 'operator' | 'requestId'> {
  /** Exact decimal. */
  readonly amountUsd: string;
  readonly reference: string;
}

/** Credits and the entry that names the operator commit together. */
export class OperatorTopUpsRepository {
  constructor(
    private readonly database: Database,
    private readonly ledger: LedgerRepository,
    private readonly audit: AuditRepository,
  ) {}

  /** Returns false, and writes no entry, for a reference that was counted before. */
  async add({ organizationId, amountUsd, reference, operator, requestId }: OperatorTopUp): Promise<boolean> {
    return this.database.transaction(
      async (session) => {
        const isAdded = await this.ledger.topUp(organizationId, amountUsd, reference, session);
        if (!isAdded) return false;
        const action = 'sluice credits add';
        await this.audit.addOperatorEntry(session, { organizationId, operator, action, target: reference, requestId });
        return true;
      },
      outcomeOfRow('ledger_transfers', 'reference', reference),
    );
  }
}
