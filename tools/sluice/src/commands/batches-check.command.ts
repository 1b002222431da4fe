import { BatchChecksRepository, type BatchFinding } from '@libs/persistence';
import { optionalText, UsageError, type Command, type CommandArguments } from '../command';
import { table } from '../table';

/** Most findings to print; the rest is only counted. */
const MOST_LISTED = 1_000;

/**
 * Lists every batch whose lines, results, counts and charges contradict each other; if there is any, the exit code is
 * 1.
 */
export const batchesCheck: Command = {
  name: 'batches check',
  summary: 'Find batches whose lines, results, counts and charges disagree',
  usage: '[--since DATE]',
  options: { since: { type: 'string' } },
  positionals: [],
  looksForFaults: true,
  async run(args, installation) {
    const checks = new BatchChecksRepository(await installation.database());
    const findings: BatchFinding[] = [];
    let [checked, found] = [0, 0];
    for await (const page of checks.check(sinceOf(args))) {
      checked += page.checked;
      found += page.findings.length;
      findings.push(...page.findings.slice(0, MOST_LISTED - findings.length));
    }
    const data = { checked, found, batches: findings };
    if (found === 0) return { data, text: `${checked} batches checked: nothing disagrees` };
    return { data, text: textOf(checked, found, findings), failed: true };
  },
};

function textOf(checked: number, found: number, findings: readonly BatchFinding[]): string {
  const rows = findings.flatMap(({ id, number, status, problems }) =>
    problems.map(({ kind, message }) => [
      id ?? (number === null ? '-' : `number ${number}`),
      status ?? '-',
      kind,
      message,
    ]),
  );
  const more = found > findings.length ? `\n\nand ${found - findings.length} more: --since DATE shows fewer` : '';
  return `${checked} batches checked, ${found} disagree.\n\n${table(['ID', 'STATUS', 'WHAT', 'PROBLEM'], rows)}${more}`;
}

function sinceOf(args: CommandArguments): Date | undefined {
  const text = optionalText(args, 'since');
  if (text === undefined) return undefined;
  const since = new Date(text);
  if (!Number.isNaN(since.getTime())) return since;
  throw new UsageError('--since must be a date such as 2026-11-23 or 2026-11-23T08:00Z');
}
