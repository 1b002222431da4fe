import { formatUsd, toolOfType, type PicoUsd } from '@libs/inference';
import type { ChargeDifference, ExplainedPart } from './charge-difference';
import type { RecordedCharges, ReportedCost } from './charge-facts';
import { NO_KEY, NO_MODEL, sum, type CompareOptions } from './charge-group';
import type { PriceBook } from './price-book';
import { isWithin } from './price-causes';

/** An amount of one side. */
interface ToolAmount {
  readonly day: string;
  /** Null if the report names no known model. */
  readonly model: string | null;
  /** Name of the tool in the catalogue; null if the record does not name it. */
  readonly tool: string | null;
  readonly amount: PicoUsd;
  readonly isCharged: boolean;
}

/** Amounts that are compared as a sum. */
interface ToolGroup {
  readonly day: string;
  readonly model: string;
  readonly amounts: readonly ToolAmount[];
}

/**
 * Compares what each tool of the provider cost on each day, so that one tool cannot hide another; by model if the
 * report names the model of every charge for the tool. A difference that is a whole number of uses is `tool_use`.
 */
export function compareTools(
  costs: readonly ReportedCost[],
  recorded: RecordedCharges,
  { book, rounding }: CompareOptions,
): ChargeDifference[] {
  const days = Map.groupBy([...chargedAmounts(costs, recorded, book), ...recordedAmounts(recorded)], ({ day }) => day);
  return [...days.values()]
    .flatMap(groupsOfDay)
    .flatMap(({ day, model, amounts }) =>
      differenceOf(amounts, book, rounding).map((part) => ({ day, model, key: NO_KEY, ...part })),
    );
}

function chargedAmounts(costs: readonly ReportedCost[], recorded: RecordedCharges, book: PriceBook): ToolAmount[] {
  const names = new Set([...recorded.usage, ...recorded.tools].map(({ model }) => model));
  const known = new Set([...names, ...book.models()]);
  return costs.flatMap(({ day, model, tool, amount }) => {
    if (tool === null) return [];
    const name = model === null ? null : book.nameOf(model, names);
    const isKnown = name !== null && known.has(name);
    return [{ day, model: isKnown ? name : null, tool: toolOfType(tool) ?? tool, amount, isCharged: true }];
  });
}

function recordedAmounts({ tools }: RecordedCharges): ToolAmount[] {
  return tools.map(({ day, model, tool, cost }) => ({ day, model, tool, amount: cost, isCharged: false }));
}

/** Returns one group for each tool; a single one if the record does not name every tool of the day. */
function groupsOfDay(amounts: readonly ToolAmount[]): ToolGroup[] {
  const [{ day } = { day: '' }] = amounts;
  if (amounts.some(({ tool }) => tool === null)) return [{ day, model: NO_MODEL, amounts }];
  const tools = Map.groupBy(amounts, ({ tool }) => tool ?? '');
  return [...tools].toSorted(byName).flatMap(([, same]) => groupsOfTool(day, same));
}

function groupsOfTool(day: string, amounts: readonly ToolAmount[]): ToolGroup[] {
  const charged = amounts.filter(({ isCharged }) => isCharged);
  if (charged.length === 0 || charged.some(({ model }) => model === null)) return [{ day, model: NO_MODEL, amounts }];
  const models = Map.groupBy(amounts, ({ model }) => model ?? NO_MODEL);
  return [...models].toSorted(byName).map(([model, same]) => ({ day, model, amounts: same }));
}

function differenceOf(amounts: readonly ToolAmount[], book: PriceBook, rounding: PicoUsd): ExplainedPart[] {
  const charged = amounts.filter(({ isCharged }) => isCharged);
  const amount = sum(amounts.map((one) => (one.isCharged ? one.amount : -one.amount)));
  const bound = rounding * BigInt(charged.length + 1);
  if (isWithin(amount, bound)) return [];
  const names = [...new Set(amounts.flatMap(({ tool }) => tool ?? []))].toSorted();
  const priced = names.filter((name) => book.toolRates(name).length > 0);
  const fitting = priced.flatMap((name) => usesOf(name, book.toolRates(name), amount, bound) ?? []);
  const [uses] = fitting;
  if (uses !== undefined && fitting.length === 1) return [{ cause: 'tool_use', amount, detail: uses }];
  return [{ cause: 'unknown', amount, detail: reasonOf({ names, priced, fitting }) }];
}

/** Returns how many uses cost the amount, at each price that fits; null if it is no whole number of uses at any. */
function usesOf(tool: string, rates: readonly PicoUsd[], amount: PicoUsd, bound: PicoUsd): string | null {
  const fitting = rates.flatMap((rate) => {
    const uses = wholeUses(amount, rate, bound);
    return uses === null ? [] : [`${uses > 0n ? '+' : ''}${uses} ${tool} at ${formatUsd(rate)} USD`];
  });
  return fitting.length === 0 ? null : fitting.join(' or ');
}

function wholeUses(amount: PicoUsd, rate: PicoUsd, bound: PicoUsd): bigint | null {
  // Smaller rates would fit any amount.
  if (rate <= 2n * bound) return null;
  const half = amount < 0n ? -rate / 2n : rate / 2n;
  const uses = (amount + half) / rate;
  return isWithin(amount - uses * rate, bound) ? uses : null;
}

interface Unexplained {
  readonly names: readonly string[];
  readonly priced: readonly string[];
  readonly fitting: readonly string[];
}

function reasonOf({ names, priced, fitting }: Unexplained): string {
  if (names.length === 0) return 'the record does not say which tools ran';
  if (fitting.length > 1) return `the record does not say which of ${names.join(', ')} ran`;
  if (priced.length === 0) return `the catalogue has no price for ${names.join(', ')}`;
  return `no number of uses of ${names.join(', ')} costs this`;
}

function byName([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one.localeCompare(other);
}
