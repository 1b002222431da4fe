import { sum, type ChargeGroup } from './charge-group';

/** The most tokens of one request among the recorded ones; 0 if unknown. */
export interface LongestRequest {
  readonly prompt: bigint;
  readonly output: bigint;
}

/** What Sluice knows about a day and model in addition to the recorded usage. */
export interface KnownWork {
  readonly failedAttempts: bigint;
  readonly abandonedCalls: bigint;
  readonly orphanRequests: bigint;
  readonly estimatedCalls: bigint;
  /** By whether prompts are priced as long, and of all. */
  readonly longest: { readonly short: LongestRequest; readonly long: LongestRequest; readonly any: LongestRequest };
}

export function knownWork({ unpaid, recorded }: ChargeGroup): KnownWork {
  return {
    failedAttempts: sum(unpaid.map(({ failedAttempts }) => failedAttempts)),
    abandonedCalls: sum(unpaid.map(({ abandonedCalls }) => abandonedCalls)),
    orphanRequests: sum(unpaid.map(({ orphanRequests }) => orphanRequests)),
    estimatedCalls: sum(recorded.map(({ estimated }) => estimated)),
    longest: {
      short: longestOf(recorded.filter(({ isLong }) => isLong === false)),
      long: longestOf(recorded.filter(({ isLong }) => isLong === true)),
      any: longestOf(recorded),
    },
  };
}

function longestOf(recorded: ChargeGroup['recorded']): LongestRequest {
  return {
    prompt: most(recorded.map(({ longestPrompt }) => longestPrompt)),
    output: most(recorded.map(({ longestOutput }) => longestOutput)),
  };
}

function most(counts: readonly bigint[]): bigint {
  return counts.reduce((highest, count) => (count > highest ? count : highest), 0n);
}
