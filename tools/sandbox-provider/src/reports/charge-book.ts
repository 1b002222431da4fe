import { COUNTS, ITEMS, type Charge, type ChargeCell, type Count, type Item, type ReportForm } from './charge';

/** Tokens of one call that the sandbox served. */
export interface ServedTokens {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
}

/** Sums of one cell. */
export interface BookedCell extends ChargeCell {
  readonly counts: Record<Count, number>;
  readonly amounts: Record<Item, bigint>;
}

const MAXIMUM_CELLS = 20_000;
const WHOLE_PERCENT = 100n;

/** Pico-dollars per token, as in `catalog/sandbox.yaml`; a batch costs half. */
const PROMPT = 100_000n;
const OUTPUT = 400_000n;
const CACHED: Readonly<Record<ReportForm, bigint>> = { openai: 50_000n, anthropic: 10_000n };
const EMBEDDED = 20_000n;

/** What the sandbox served and charged, by day, model and price. At most 20,000 cells; further ones are not counted. */
export class ChargeBook {
  private readonly cells = new Map<string, BookedCell>();
  /** Percentage added to the price list, for everything that is served from now on. */
  surchargePercent = 0;

  constructor(private readonly now: () => number = Date.now) {}

  add(charge: Charge): void {
    const { form, isEmbedding, day, model, tier, isLong, isBatch, key: apiKey, counts, amounts } = charge;
    const key = JSON.stringify([form, isEmbedding, day, model, tier, isLong, isBatch, apiKey]);
    let cell = this.cells.get(key);
    if (cell === undefined) {
      if (this.cells.size >= MAXIMUM_CELLS) return;
      cell = { form, isEmbedding, day, model, tier, isLong, isBatch, key: apiKey, ...nothing() };
      this.cells.set(key, cell);
    }
    for (const name of COUNTS) cell.counts[name] += counts[name] ?? 0;
    for (const name of ITEMS) cell.amounts[name] += amounts[name] ?? 0n;
  }

  /** Charges one call of today by the price list. */
  serve(cell: Pick<ChargeCell, 'form' | 'model' | 'isBatch' | 'isEmbedding'>, tokens: ServedTokens): void {
    const uncached = tokens.promptTokens - tokens.cachedTokens;
    const price = (count: number, rate: bigint): bigint => this.priceOf(BigInt(count) * rate, cell.isBatch);
    this.add({
      ...cell,
      day: new Date(this.now()).toISOString().slice(0, 10),
      tier: 'default',
      isLong: false,
      counts: {
        requests: 1,
        uncached_input_tokens: uncached,
        cache_read_input_tokens: tokens.cachedTokens,
        output_tokens: tokens.outputTokens,
      },
      amounts: {
        uncached_input_tokens: price(uncached, cell.isEmbedding ? EMBEDDED : PROMPT),
        cache_read_input_tokens: price(tokens.cachedTokens, CACHED[cell.form]),
        output_tokens: price(tokens.outputTokens, OUTPUT),
      },
    });
  }

  /** Returns the cells from the earliest day on. */
  of(form: ReportForm): BookedCell[] {
    return [...this.cells.values()]
      .filter((cell) => cell.form === form)
      .toSorted((one, other) => one.day.localeCompare(other.day));
  }

  clear(): void {
    this.cells.clear();
    this.surchargePercent = 0;
  }

  private priceOf(amount: bigint, isBatch: boolean): bigint {
    const surcharged = (amount * (WHOLE_PERCENT + BigInt(this.surchargePercent))) / WHOLE_PERCENT;
    return isBatch ? surcharged / 2n : surcharged;
  }
}

function nothing(): Pick<BookedCell, 'counts' | 'amounts'> {
  return {
    counts: Object.fromEntries(COUNTS.map((name) => [name, 0])) as Record<Count, number>,
    amounts: Object.fromEntries(ITEMS.map((name) => [name, 0n])) as Record<Item, bigint>,
  };
}
