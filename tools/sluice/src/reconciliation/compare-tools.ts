import { formatUsd, type PicoUsd } from '@libs/inference';
import type { ChargeDifference } from './charge-difference';
import type { RecordedUsage, ReportedCost } from './charge-facts';
import type { PriceBook } from './price-book';
import { isWithin } from './price-causes';

interface ToolDay {
  readonly tools: Set<string>;
  lines: bigint;
  charged: PicoUsd;
  recorded: PicoUsd;
}

/**
 * Compares what tools of the provider cost in each day: reports do not say for which model they ran. A difference that
 * is a whole number of uses of one tool is `tool_use`.
 */
export function compareTools(
  costs: readonly ReportedCost[],
  recorded: readonly RecordedUsage[],
  { book, rounding }: { readonly book: PriceBook; readonly rounding: PicoUsd },
): ChargeDifference[] {
  const days = new Map<string, ToolDay>();
  const dayOf = (day: string): ToolDay => {
    const known = days.get(day) ?? { tools: new Set<string>(), lines: 0n, charged: 0n, recorded: 0n };
    days.set(day, known);
    return known;
  };
  for (const { day, tool, amount } of costs) {
    if (tool === null) continue;
    const known = dayOf(day);
    known.tools.add(tool);
    known.lines += 1n;
    known.charged += amount;
  }
  for (const { day, toolCost } of recorded) if (toolCost !== 0n) dayOf(day).recorded += toolCost;
  return [...days].flatMap(([day, known]) => differenceOf(day, known, book, rounding));
}

function differenceOf(day: string, known: ToolDay, book: PriceBook, rounding: PicoUsd): ChargeDifference[] {
  const amount = known.charged - known.recorded;
  const bound = rounding * (known.lines + 1n);
  if (isWithin(amount, bound)) return [];
  const names = known.tools.size === 0 ? ['web_search'] : [...known.tools];
  const fitting = names.flatMap((name) => {
    const rate = book.toolRate(name);
    const uses = rate === null ? null : wholeUses(amount, rate, bound);
    return uses === null ? [] : [`${uses > 0n ? '+' : ''}${uses} ${name} at ${formatUsd(rate!)} USD`];
  });
  const [uses] = fitting;
  const difference = { day, model: '-', key: '-', amount };
  return fitting.length === 1 && uses !== undefined
    ? [{ ...difference, cause: 'tool_use', detail: uses }]
    : [{ ...difference, cause: 'unknown', detail: `no number of uses of ${names.join(', ')} costs this` }];
}

function wholeUses(amount: PicoUsd, rate: PicoUsd, bound: PicoUsd): bigint | null {
  // Smaller rates would fit any amount.
  if (rate <= 2n * bound) return null;
  const half = amount < 0n ? -rate / 2n : rate / 2n;
  const uses = (amount + half) / rate;
  return isWithin(amount - uses * rate, bound) ? uses : null;
}
