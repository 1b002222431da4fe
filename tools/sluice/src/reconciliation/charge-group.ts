import type { PicoUsd } from '@libs/inference';
import type {
  ChargeReport,
  RecordedCharges,
  RecordedUsage,
  ReportedCost,
  ReportedUsage,
  UnpaidWork,
} from './charge-facts';
import type { PriceBook } from './price-book';

/** The reported and the recorded values of one day and model. */
export interface ChargeGroup {
  readonly day: string;
  /** `-` for charges that belong to no model. */
  readonly model: string;
  readonly usage: readonly ReportedUsage[];
  readonly costs: readonly ReportedCost[];
  readonly recorded: readonly RecordedUsage[];
  readonly unpaid: readonly UnpaidWork[];
}

export interface CompareOptions {
  readonly book: PriceBook;
  /** How far the amount of one line of the report may be rounded. */
  readonly rounding: PicoUsd;
}

export const NO_MODEL = '-';
export const NO_KEY = '-';
/** Largest rounding of one call in the record. */
const RECORDED_ROUNDING: PicoUsd = 1n;

/**
 * Groups both sides by day and model, and charges without a model by what was charged, so that one difference cannot
 * hide another. Charges for tools are left out.
 */
export function groupsOf({ usage, costs }: ChargeReport, recorded: RecordedCharges, book: PriceBook): ChargeGroup[] {
  const groups = new Map<string, { [Part in keyof ChargeGroup]: Mutable<ChargeGroup[Part]> }>();
  const names = new Set(recorded.usage.map(({ model }) => model));
  const groupOf = (day: string, reported: string | null, item = '') => {
    const model = reported === null ? NO_MODEL : book.nameOf(reported, names);
    const key = reported === null ? `${day} ${model} ${item}` : `${day} ${model}`;
    const group = groups.get(key) ?? { day, model, usage: [], costs: [], recorded: [], unpaid: [] };
    groups.set(key, group);
    return group;
  };
  for (const one of usage) groupOf(one.day, one.model).usage.push(one);
  for (const one of costs) if (one.tool === null) groupOf(one.day, one.model, one.item).costs.push(one);
  for (const one of recorded.usage) groupOf(one.day, one.model).recorded.push(one);
  for (const one of recorded.unpaid) groupOf(one.day, one.model).unpaid.push(one);
  return [...groups.values()];
}

type Mutable<T> = T extends readonly (infer Item)[] ? Item[] : T;

/** Returns how far the amounts of both sides may differ because of rounding. */
export function roundingOf({ costs, recorded }: ChargeGroup, rounding: PicoUsd): PicoUsd {
  return rounding * BigInt(costs.length + 1) + RECORDED_ROUNDING * sum(recorded.map(({ requests }) => requests));
}

/** Returns the recorded cost of tokens and requests of a group, without tools. */
export function recordedCost({ recorded }: ChargeGroup): PicoUsd {
  return sum(recorded.map(({ cost, toolCost }) => cost - toolCost));
}

/** Returns the ids of the keys that a group of charges or counts names, in order. */
export function keysOf(rows: readonly { readonly key: string | null }[]): string[] {
  return [...new Set(rows.flatMap(({ key }) => (key === null ? [] : [key])))].toSorted();
}

export function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}
