import type { PicoUsd } from '@libs/inference';
import type { CellShift } from './cell-usage';
import type { PriceBook } from './price-book';
import { NO_TOKENS, tokensText, type TokenCounts } from './token-counts';

interface Side {
  readonly amount: PicoUsd;
  readonly detail: string;
}

/**
 * Returns what the provider counted more and what it counted less than was recorded, each with its price; null if the
 * catalogue has no price for a part of it. Input of one price cell is one count, whichever class it has.
 */
export function opposedShifts(shifts: readonly CellShift[], model: string, book: PriceBook): [Side, Side] | null {
  const more: { amount: PicoUsd; tokens: string[] } = { amount: 0n, tokens: [] };
  const fewer: typeof more = { amount: 0n, tokens: [] };
  for (const { cell, tokens, requests } of shifts) {
    const input = { ...tokens, output: 0n };
    const output = { ...NO_TOKENS, output: tokens.output };
    for (const [counts, calls] of [[input, requests ?? 0n] as const, [output, 0n] as const]) {
      const amount = book.price(model, cell, counts, calls);
      if (amount === null) return null;
      if (amount !== 0n) add(amount > 0n ? more : fewer, amount, counts);
    }
  }
  return [more, fewer].map(({ amount, tokens }) => ({ amount, detail: `${tokens.join(', ')} tokens` })) as [Side, Side];
}

function add(side: { amount: PicoUsd; tokens: string[] }, amount: PicoUsd, counts: TokenCounts): void {
  side.amount += amount;
  side.tokens.push(tokensText(counts));
}
