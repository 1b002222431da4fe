import { CatalogueError, formatUsd, type Catalogue, type PicoUsd, type Provider } from '@libs/inference';
import { RecordedChargesRepository, type DayRange } from '@libs/persistence';
import { optionalText, requiredText, UsageError, type Command, type CommandArguments } from '../command';
import type { Installation } from '../installation';
import type { ChargeDifference } from '../reconciliation/charge-difference';
import type { ChargeReport, RecordedCharges } from '../reconciliation/charge-facts';
import { readChargeReport } from '../reconciliation/charge-report-reader';
import { compareCharges } from '../reconciliation/compare-charges';
import { PriceBook } from '../reconciliation/price-book';
import { recordedCharges } from '../reconciliation/recorded-charges';
import { daysBetween, isDay } from '../reconciliation/report-days';
import { readAmount } from '../reconciliation/report-fields';
import { notesOf } from '../reconciliation/report-notes';
import { table } from '../table';

const LONGEST_DAYS = 92;
/** Half a millionth of a dollar: providers write at least six decimals. */
const ROUNDING: PicoUsd = 500_000n;
const MOST_ROUNDING: PicoUsd = 1_000_000_000_000n;

/**
 * Compares what a provider charged with what was recorded. Exit code 1: there is a difference; 3: there is no report or
 * no record.
 */
export const ledgerReconcile: Command = {
  name: 'ledger reconcile',
  summary: 'Compare what a provider charged with what was recorded, and name the cause of each difference',
  usage: '--provider SLUG --from DAY --to DAY [--csv FILE] [--project ID] [--rounding USD]',
  options: {
    provider: { type: 'string' },
    from: { type: 'string' },
    to: { type: 'string' },
    csv: { type: 'string' },
    project: { type: 'string' },
    rounding: { type: 'string' },
  },
  positionals: [],
  looksForFaults: true,
  async run(args, installation) {
    const days = daysOf(args);
    const rounding = roundingOf(args);
    const source = { csvFile: optionalText(args, 'csv'), project: optionalText(args, 'project') };
    const slug = requiredText(args, 'provider');
    const catalogue = await catalogueOf(installation);
    const provider = providerOf(catalogue, slug);
    const report = await readChargeReport(provider, days, source, installation);
    const book = new PriceBook(catalogue, slug);
    const recorded = await recordedOf(book, days, installation);
    const differences = compareCharges(report, recorded, { book, rounding });
    const notes = notesOf(report);
    const result = { provider: slug, ...days, rounding, ...totalsOf(report, recorded), differences, notes };
    return { data: toJson(result), text: toText(result), failed: differences.length > 0 };
  },
};

interface Result extends DayRange {
  readonly provider: string;
  readonly rounding: PicoUsd;
  readonly charged: PicoUsd;
  readonly recorded: PicoUsd;
  readonly requests: bigint;
  readonly differences: readonly ChargeDifference[];
  /** What could not be compared. */
  readonly notes: readonly string[];
}

function daysOf(args: CommandArguments): DayRange {
  const [from, to] = (['from', 'to'] as const).map((option) => {
    const day = requiredText(args, option);
    if (!isDay(day)) throw new UsageError(`--${option} must be a day such as 2026-11-20`);
    return day;
  }) as [string, string];
  if (from > to) throw new UsageError('--from must not be after --to');
  if (daysBetween(from, to) > LONGEST_DAYS) {
    throw new UsageError(`--from and --to may span at most ${LONGEST_DAYS} days`);
  }
  return { from, to };
}

function roundingOf(args: CommandArguments): PicoUsd {
  const text = optionalText(args, 'rounding');
  const rounding = text === undefined ? ROUNDING : readAmount(text);
  if (rounding === null || rounding < 0n || rounding > MOST_ROUNDING) {
    throw new UsageError('--rounding must be an amount in US dollars from 0 to 1');
  }
  return rounding;
}

async function catalogueOf(installation: Installation): Promise<Catalogue> {
  try {
    return await installation.catalogue();
  } catch (error) {
    if (error instanceof CatalogueError) throw new UsageError(error.message);
    throw error;
  }
}

function providerOf(catalogue: Catalogue, slug: string): Provider {
  const provider = catalogue.findProvider(slug);
  if (provider === null) throw new UsageError('--provider must be the slug of a provider in the catalogue');
  return provider;
}

async function recordedOf(book: PriceBook, days: DayRange, installation: Installation): Promise<RecordedCharges> {
  const long = book.models().flatMap((model) => {
    const from = book.longFrom(model);
    return from === null ? [] : [{ model, from }];
  });
  const records = new RecordedChargesRepository(await installation.database());
  return recordedCharges(await records.find(book.provider, days, long), book);
}

function totalsOf(
  { costs }: ChargeReport,
  { usage }: RecordedCharges,
): Pick<Result, 'charged' | 'recorded' | 'requests'> {
  return {
    charged: costs.reduce((sum, { amount }) => sum + amount, 0n),
    recorded: usage.reduce((sum, { cost }) => sum + cost, 0n),
    requests: usage.reduce((sum, { requests }) => sum + requests, 0n),
  };
}

function toJson({ provider, from, to, rounding, charged, recorded, requests, differences, notes }: Result): object {
  return {
    provider,
    from,
    to,
    rounding_usd: formatUsd(rounding),
    charged_usd: formatUsd(charged),
    recorded_usd: formatUsd(recorded),
    requests: Number(requests),
    count: differences.length,
    differences: differences.map(({ day, model, key, cause, amount, detail }) => ({
      day,
      model,
      key,
      cause,
      difference_usd: formatUsd(amount),
      detail,
    })),
    notes,
  };
}

function toText({ provider, from, to, rounding, charged, recorded, requests, differences, notes }: Result): string {
  const span = from === to ? from : `${from} to ${to}`;
  const read =
    `${provider}, ${span}: charged ${formatUsd(charged)} USD, recorded ${formatUsd(recorded)} USD ` +
    `in ${counted(requests, 'request')}. Amounts may be rounded by ${formatUsd(rounding)} USD a line.`;
  const noted = notes.map((note) => `\n\nNote: ${note}`).join('');
  if (differences.length === 0) return `No difference. ${read}${noted}`;
  const rows = differences.map(({ day, model, key, cause, amount, detail }) => [
    day,
    model,
    key,
    cause,
    signed(amount),
    detail,
  ]);
  return `${counted(differences.length, 'difference')}. ${read}\n\n${table(['DAY', 'MODEL', 'KEY', 'CAUSE', 'USD', 'DEDUCED FROM'], rows)}${noted}`;
}

function counted(count: number | bigint, thing: string): string {
  return `${count} ${thing}${String(count) === '1' ? '' : 's'}`;
}

function signed(amount: PicoUsd): string {
  return amount > 0n ? `+${formatUsd(amount)}` : formatUsd(amount);
}
