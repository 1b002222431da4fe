import { formatUsd, type PicoUsd } from '@libs/inference';
import { shiftsBetween, type CellShift } from './cell-usage';
import { CAUSES, type ChargeDifference, type ExplainedPart } from './charge-difference';
import type { ChargeReport, RecordedCharges } from './charge-facts';
import {
  groupsOf,
  keysOf,
  NO_KEY,
  recordedCost,
  roundingOf,
  sum,
  type ChargeGroup,
  type CompareOptions,
} from './charge-group';
import { compareKeys, isPricedAlike } from './compare-keys';
import { compareTools } from './compare-tools';
import { knownWork } from './known-work';
import { opposedShifts } from './opposed-shifts';
import { explainOpposedPrices, explainPrices, isWithin } from './price-causes';
import { explainUsage } from './usage-causes';

/**
 * Returns the differences between a provider's charges and Sluice's record, by day, model, key and cause, in that
 * order.
 *
 * Causes are deduced from counts: each count that differs must have exactly one cause, and the prices of all of them
 * must add up to the difference of the amounts, up to the rounding. Otherwise the whole difference is `unknown`. Counts
 * that differ but cancel each other out are differences too: otherwise one would hide the other.
 */
export function compareCharges(
  report: ChargeReport,
  recorded: RecordedCharges,
  options: CompareOptions,
): ChargeDifference[] {
  const differences = groupsOf(report, recorded, options.book).flatMap((group) => {
    const { day, model } = group;
    const ofKeys = compareKeys(group, options);
    const key = keysOf(group.usage).join(',') || NO_KEY;
    return [...ofKeys, ...explainGroup(group, ofKeys, options).map((part) => ({ day, model, key, ...part }))];
  });
  return [...differences, ...compareTools(report.costs, recorded, options)].toSorted(inOrder);
}

/** @param ofKeys the parts of the difference that are explained by key */
function explainGroup(
  group: ChargeGroup,
  ofKeys: readonly ExplainedPart[],
  { book, rounding }: CompareOptions,
): ExplainedPart[] {
  const { model, usage, costs, recorded } = group;
  const difference = sum(costs.map(({ amount }) => amount)) - recordedCost(group) - total(ofKeys);
  const bound = roundingOf(group, rounding);
  if (usage.length === 0 && costs.length === 0) return missing(group, difference, bound);
  const shifts = shiftsBetween(
    usage.map((one) => ({ cell: one, ...one })),
    recorded.map((one) => ({ cell: one, ...one })),
  );
  const explained = explainUsage(shifts, { book, model, known: knownWork(group) });
  if (explained.parts === null) return unexplained(group, difference, explained.reason, { book, bound, shifts });
  const { parts } = explained;
  // A key whose amounts do not fit its counts gets a separate difference; then rates are not compared.
  const candidates =
    ofKeys.length === 0 ? withPrices(group, { parts, difference, bound }, { book, rounding }) : [parts];
  const fitting = candidates.find((all) => isWithin(difference - total(all), bound));
  if (fitting !== undefined) return byCause(fitting, isWithin(difference, bound) ? bound : 0n);
  if (isWithin(difference, bound)) return [];
  const left = difference - total(parts);
  return [unknown(difference, `${formatUsd(left)} USD more than the counts explain${itemsOf(group)}`)];
}

interface Explained {
  readonly parts: readonly ExplainedPart[];
  readonly difference: PicoUsd;
  readonly bound: PicoUsd;
}

/**
 * Returns the parts that differing counts explain, without and with those that other rates explain. Rates that differ
 * in opposite directions may cancel each other out, so that both may fit; then the rates count if the catalogue has the
 * recorded ones.
 */
function withPrices(
  group: ChargeGroup,
  { parts, difference, bound }: Explained,
  options: CompareOptions,
): (readonly ExplainedPart[])[] {
  const { model, usage, costs } = group;
  const question = { model, usage, costs, ...options };
  if (!isPricedAlike(group, options)) return [parts, [...parts, ...(explainPrices(question) ?? [])]];
  const prices = isWithin(difference, bound) ? explainOpposedPrices(question) : (explainPrices(question) ?? []);
  return [[...parts, ...prices], parts];
}

function total(parts: readonly ExplainedPart[]): PicoUsd {
  return sum(parts.map(({ amount }) => amount));
}

function missing({ recorded }: ChargeGroup, difference: PicoUsd, bound: PicoUsd): ExplainedPart[] {
  if (isWithin(difference, bound)) return [];
  const calls = sum(recorded.map(({ requests }) => requests));
  return [{ cause: 'missing_at_provider', amount: difference, detail: `${calls} requests are not in the report` }];
}

interface Unexplained {
  readonly book: CompareOptions['book'];
  readonly bound: PicoUsd;
  readonly shifts: readonly CellShift[];
}

/** Counts without a cause: higher and lower ones separately, if their prices add up to the difference. */
function unexplained(
  { model }: ChargeGroup,
  difference: PicoUsd,
  reason: string,
  { book, bound, shifts }: Unexplained,
): ExplainedPart[] {
  const opposed = opposedShifts(shifts, model, book);
  if (opposed !== null && opposed.every(({ amount }) => !isWithin(amount, bound))) {
    const [more, fewer] = opposed;
    if (isWithin(more.amount + fewer.amount - difference, bound)) {
      return opposed.map(({ amount, detail }) => unknown(amount, `${detail}: ${reason}`));
    }
  }
  return isWithin(difference, bound) ? [] : [unknown(difference, reason)];
}

/** Returns one part for what each cause adds and one for what it subtracts, without those of at most `least`. */
function byCause(parts: readonly ExplainedPart[], least: PicoUsd): ExplainedPart[] {
  return CAUSES.flatMap((cause) =>
    [true, false].flatMap((isMore) => {
      const same = parts.filter((part) => part.cause === cause && part.amount > 0n === isMore);
      const amount = total(same);
      return isWithin(amount, least) ? [] : [{ cause, amount, detail: same.map(({ detail }) => detail).join('; ') }];
    }),
  );
}

function unknown(amount: PicoUsd, detail: string): ExplainedPart {
  return { cause: 'unknown', amount, detail };
}

const LISTED_ITEMS = 3;

/** Names what was charged, if the report has no counts, and what the record does not know. */
function itemsOf({ usage, costs, recorded }: ChargeGroup): string {
  if (recorded.some(({ isLong }) => isLong === null)) return '; calls of several turns have no record of each prompt';
  if (usage.length > 0) return '';
  return `: ${[...new Set(costs.map(({ item }) => item))].slice(0, LISTED_ITEMS).join('; ')}`;
}

function inOrder(one: ChargeDifference, other: ChargeDifference): number {
  return (
    one.day.localeCompare(other.day) ||
    one.model.localeCompare(other.model) ||
    one.key.localeCompare(other.key) ||
    CAUSES.indexOf(one.cause) - CAUSES.indexOf(other.cause)
  );
}
