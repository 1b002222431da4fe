import { parseArgs } from 'node:util';
import { FAULT_KINDS, type FaultKind } from './fault-plan';

export interface StormOptions {
  readonly seeds: readonly number[];
  /** How long faults are brought about. */
  readonly minutes: number;
  readonly without: ReadonlySet<FaultKind>;
  /** Keeps history and logs also when every promise was kept. */
  readonly keep: boolean;
}

export const USAGE = `npm run chaos -- storm [--seed N | --seeds A..B] [--minutes M] [--without KIND,…] [--only KIND,…] [--keep]
kinds: ${FAULT_KINDS.join(', ')}`;

const DEFAULT_MINUTES = 3;
const MOST_SEEDS = 1_000;

/** Reads the command line. @throws Error that says what is wrong and how it is called */
export function readStormOptions(args: readonly string[]): StormOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: 'string' },
      seeds: { type: 'string' },
      minutes: { type: 'string' },
      without: { type: 'string' },
      only: { type: 'string' },
      keep: { type: 'boolean' },
    },
  });
  const minutes = values.minutes === undefined ? DEFAULT_MINUTES : Number(values.minutes);
  if (!(minutes > 0 && minutes <= 600)) {
    throw new Error(`--minutes is ${values.minutes}; it must be above 0 and at most 600`);
  }
  const only = kindsOf('only', values.only);
  const without = new Set([
    ...kindsOf('without', values.without),
    ...(only.length > 0 ? FAULT_KINDS.filter((kind) => !only.includes(kind)) : []),
  ]);
  return { seeds: seedsOf(values), minutes, without, keep: values.keep === true };
}

function seedsOf({ seed, seeds }: { readonly seed?: string; readonly seeds?: string }): number[] {
  if (seeds === undefined) {
    const number = Number(seed ?? 1);
    if (!Number.isSafeInteger(number) || number < 0) throw new Error(`--seed is ${seed}; it must be a whole number`);
    return [number];
  }
  const [, first, last] = /^(\d+)\.\.(\d+)$/.exec(seeds) ?? [];
  const count = Number(last) - Number(first) + 1;
  if (!(count >= 1 && count <= MOST_SEEDS)) throw new Error(`--seeds is ${seeds}; it must be like 1..20`);
  return Array.from({ length: count }, (_, index) => Number(first) + index);
}

function kindsOf(option: string, text: string | undefined): FaultKind[] {
  return (text ?? '')
    .split(',')
    .filter((name) => name !== '')
    .map((name) => {
      const kind = FAULT_KINDS.find((one) => one === name);
      if (kind === undefined) throw new Error(`--${option} names ${name}, which is no kind of fault.\n${USAGE}`);
      return kind;
    });
}
