import { LedgerAuditRepository, type LedgerAuditReport } from '@libs/persistence';
import { flag, type Command } from '../command';
import { table } from '../table';

const LISTED = 100;

/**
 * Compares every charge with its source, and every balance with the charges. Exit code 1: there is a difference; 3:
 * there was no audit.
 */
export const ledgerAudit: Command = {
  name: 'ledger audit',
  summary: 'Prove that the books balance, to the last digit: what is new since the last audit, or all of it',
  usage: '[--full]',
  options: { full: { type: 'boolean' } },
  positionals: [],
  looksForFaults: true,
  async run(args, installation) {
    const audits = new LedgerAuditRepository(await installation.database());
    const report = await audits.audit({ isFull: flag(args, 'full') });
    return { data: toJson(report), text: toText(report), failed: report.count > 0 };
  },
};

function toJson({ driftPicousd, isFull, count, transfers, findings }: LedgerAuditReport): object {
  return {
    drift: count === 0 ? '0' : 'not zero',
    drift_picousd: driftPicousd.toString(),
    full: isFull,
    count,
    transfers,
    findings: findings.slice(0, LISTED).map(({ kind, id, figure, foundUsd, expectedUsd }) => ({
      kind,
      id,
      figure,
      found_usd: foundUsd,
      expected_usd: expectedUsd,
    })),
  };
}

function toText({ driftPicousd, isFull, count, transfers, findings }: LedgerAuditReport): string {
  const read = `${isFull ? 'full audit' : 'incremental audit'}, ${transfers} transfers read`;
  if (count === 0) return `drift 0 (${read})`;
  const rows = findings
    .slice(0, LISTED)
    .map(({ kind, id, figure, foundUsd, expectedUsd }) => [kind, id, figure, foundUsd, expectedUsd]);
  const listed = count > rows.length ? ` The first ${rows.length}:` : '';
  return `The books do not balance: ${count} differences, ${driftPicousd} pico-dollars (${read}).${listed}

${table(['KIND', 'ID', 'FIGURE', 'FOUND USD', 'EXPECTED USD'], rows)}`;
}
