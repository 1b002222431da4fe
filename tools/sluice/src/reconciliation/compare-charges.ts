import { formatUsd, type PicoUsd } from '@libs/inference';
import { shiftsBetween } from './cell-usage';
import { CAUSES, type ChargeDifference, type ExplainedPart } from './charge-difference';
import type {
  ChargeReport,
  RecordedCharges,
  RecordedUsage,
  ReportedCost,
  ReportedUsage,
  UnpaidWork,
} from './charge-facts';
import { compareTools } from './compare-tools';
import type { PriceBook } from './price-book';
import { explainPrices, isWithin } from './price-causes';
import { explainUsage, type KnownWork } from './usage-causes';

/** What the two sides say of one day and model. */
interface Group {
  readonly day: string;
  readonly model: string;
  readonly usage: ReportedUsage[];
  readonly costs: ReportedCost[];
  readonly recorded: RecordedUsage[];
  readonly unpaid: UnpaidWork[];
}

export interface CompareOptions {
  readonly book: PriceBook;
  /** How far the amount of one line of the report may be rounded. */
  readonly rounding: PicoUsd;
}

/** One call may be rounded by as much in the record. */
const RECORDED_ROUNDING: PicoUsd = 1n;
const NO_MODEL = '-';

/**
 * Returns what a provider charged otherwise than Sluice recorded, by day, model and cause, in that order.
 *
 * Causes are deduced from counts: each count that differs must have exactly one cause, and the prices of all of them
 * must add up to the difference of the amounts, up to the rounding. Otherwise the whole difference is `unknown`.
 */
export function compareCharges(
  report: ChargeReport,
  recorded: RecordedCharges,
  { book, rounding }: CompareOptions,
): ChargeDifference[] {
  const groups = groupsOf(report, recorded, book);
  const differences = groups.flatMap((group) =>
    explainGroup(group, { book, rounding }).map((part) => ({
      day: group.day,
      model: group.model,
      key: keysOf(group.usage),
      ...part,
    })),
  );
  return [...differences, ...compareTools(report.costs, recorded.usage, { book, rounding })].toSorted(inOrder);
}

function groupsOf({ usage, costs }: ChargeReport, recorded: RecordedCharges, book: PriceBook): Group[] {
  const groups = new Map<string, Group>();
  const names = new Set(recorded.usage.map(({ model }) => model));
  const groupOf = (day: string, reported: string | null): Group => {
    const model = reported === null ? NO_MODEL : book.nameOf(reported, names);
    const key = `${day} ${model}`;
    const group = groups.get(key) ?? { day, model, usage: [], costs: [], recorded: [], unpaid: [] };
    groups.set(key, group);
    return group;
  };
  for (const one of usage) groupOf(one.day, one.model).usage.push(one);
  for (const one of costs) if (one.tool === null) groupOf(one.day, one.model).costs.push(one);
  for (const one of recorded.usage) groupOf(one.day, one.model).recorded.push(one);
  for (const one of recorded.unpaid) groupOf(one.day, one.model).unpaid.push(one);
  return [...groups.values()];
}

function explainGroup(group: Group, { book, rounding }: CompareOptions): ExplainedPart[] {
  const charged = sum(group.costs.map(({ amount }) => amount));
  const cost = sum(group.recorded.map((one) => one.cost - one.toolCost));
  const calls = sum(group.recorded.map(({ requests }) => requests));
  const difference = charged - cost;
  const bound = rounding * BigInt(group.costs.length + 1) + RECORDED_ROUNDING * calls;
  if (isWithin(difference, bound)) return [];
  if (group.usage.length === 0 && group.costs.length === 0) {
    return [{ cause: 'missing_at_provider', amount: difference, detail: `${calls} requests are not in the report` }];
  }
  const shifts = shiftsBetween(
    group.usage.map((one) => ({ cell: one, ...one })),
    group.recorded.map((one) => ({ cell: one, ...one })),
  );
  const { parts, ...rest } = explainUsage(shifts, { book, model: group.model, known: knownOf(group) });
  if (parts === null) return [unknown(difference, 'reason' in rest ? rest.reason : '')];
  const left = difference - sum(parts.map(({ amount }) => amount));
  if (isWithin(left, bound)) return byCause(parts);
  const prices = explainPrices({ book, model: group.model, usage: group.usage, costs: group.costs, rounding }) ?? [];
  if (prices.length > 0 && isWithin(left - sum(prices.map(({ amount }) => amount)), bound)) {
    return byCause([...parts, ...prices]);
  }
  return [unknown(difference, `${formatUsd(left)} USD more than the counts explain${itemsOf(group)}`)];
}

/** One part for each cause, without those that come to nothing. */
function byCause(parts: readonly ExplainedPart[]): ExplainedPart[] {
  return CAUSES.flatMap((cause) => {
    const same = parts.filter((part) => part.cause === cause);
    const amount = sum(same.map((part) => part.amount));
    return amount === 0n ? [] : [{ cause, amount, detail: same.map(({ detail }) => detail).join('; ') }];
  });
}

function unknown(amount: PicoUsd, detail: string): ExplainedPart {
  return { cause: 'unknown', amount, detail };
}

const LISTED_ITEMS = 3;

/** Names what was charged where the report counts nothing. */
function itemsOf({ usage, costs }: Group): string {
  if (usage.length > 0) return '';
  return `: ${[...new Set(costs.map(({ item }) => item))].slice(0, LISTED_ITEMS).join('; ')}`;
}

function knownOf({ unpaid, recorded }: Group): KnownWork {
  return {
    failedAttempts: sum(unpaid.map(({ failedAttempts }) => failedAttempts)),
    abandonedCalls: sum(unpaid.map(({ abandonedCalls }) => abandonedCalls)),
    orphanRequests: sum(unpaid.map(({ orphanRequests }) => orphanRequests)),
    estimatedCalls: sum(recorded.map(({ estimated }) => estimated)),
  };
}

function keysOf(usage: readonly ReportedUsage[]): string {
  const keys = new Set(usage.flatMap(({ key }) => (key === null ? [] : [key])));
  return keys.size === 0 ? NO_MODEL : [...keys].toSorted().join(',');
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}

function inOrder(one: ChargeDifference, other: ChargeDifference): number {
  return (
    one.day.localeCompare(other.day) ||
    one.model.localeCompare(other.model) ||
    CAUSES.indexOf(one.cause) - CAUSES.indexOf(other.cause)
  );
}
