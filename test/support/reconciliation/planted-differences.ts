import type { Charge } from '../../../tools/sandbox-provider/src/reports/charge';
import {
  CALLS_OF_GROUP,
  callOf,
  chargeOf,
  modelOf,
  pricesOf,
  type BilledCall,
  type ProviderName,
} from './billed-calls';

export type PlantedCause =
  | 'tier'
  | 'long_context'
  | 'cache_write'
  | 'retry'
  | 'abandoned_call'
  | 'orphan_batch'
  | 'tool_use'
  | 'unknown';

/** One day and model at a provider whose charge differs for one reason. `size` is how much of it. */
export interface Planted {
  readonly cause: PlantedCause;
  readonly provider: ProviderName;
  readonly day: string;
  readonly model: string;
  readonly size: number;
}

const PICO = 1_000_000_000_000n;
const SEARCH = PICO / 100n;
const FEE = 123_456_700_000n;

/** Everything that a provider charges for one day and model, and what a planted cause adds, in pico-dollars. */
export function chargesOf(
  provider: ProviderName,
  day: string,
  model: string,
  planted: readonly Planted[],
): { readonly charges: readonly Charge[]; readonly added: bigint } {
  const calls = Array.from({ length: CALLS_OF_GROUP }, (_, index) => callOf(provider, index));
  const before = sumOf(calls, provider);
  const extra: Charge[] = [];
  for (const { cause, size } of planted) {
    if (cause === 'tier') move(calls, size, (call) => call.tier === 'default', { tier: 'priority' });
    else if (cause === 'long_context') move(calls, size, (call) => !call.isLong, { isLong: true });
    else if (cause === 'cache_write') relabel(calls, size);
    else extra.push(...extraOf(cause, { provider, day, model, size }));
  }
  const charges = [...calls.map((call) => chargeOf(provider, day, model, call)), ...extra];
  const extraCost = extra.flatMap(({ amounts }) => Object.values(amounts)).reduce((sum, amount) => sum + amount, 0n);
  return { charges, added: sumOf(calls, provider) - before + extraCost };
}

function extraOf(cause: PlantedCause, { provider, day, model, size }: Omit<Planted, 'cause'>): Charge[] {
  const empty = { ...chargeOf(provider, day, model, callOf(provider, 1)), counts: {} };
  if (cause === 'tool_use') return [{ ...empty, amounts: { web_search: BigInt(size) * SEARCH } }];
  if (cause === 'unknown') return [{ ...empty, amounts: { other: BigInt(size) * FEE } }];
  return Array.from({ length: size }, (_, index) =>
    chargeOf(provider, day, model, callOf(provider, 2 * index + 1), cause === 'orphan_batch'),
  );
}

function move(calls: BilledCall[], size: number, fits: (call: BilledCall) => boolean, to: Partial<BilledCall>): void {
  let left = size;
  calls.forEach((call, index) => {
    if (left === 0 || !fits(call)) return;
    calls[index] = { ...call, ...to };
    left -= 1;
  });
}

function relabel(calls: BilledCall[], size: number): void {
  for (let index = 0; index < size; index += 1) {
    const call = calls[index]!;
    calls[index] = { ...call, uncached: call.uncached - 50, write1h: call.write1h + 50 };
  }
}

function sumOf(calls: readonly BilledCall[], provider: ProviderName): bigint {
  return calls.flatMap((call) => Object.values(pricesOf(provider, call))).reduce((sum, price) => sum + price, 0n);
}

/** Under the names of the command's answer. */
export function keyOf({ cause, provider, day, model }: Omit<Planted, 'size'>): string {
  return `${day} ${cause === 'tool_use' ? '-' : modelOf(provider, model)} ${cause}`;
}
