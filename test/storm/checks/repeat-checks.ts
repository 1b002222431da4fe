import type { UpstreamCall } from '../../support/upstream-script';
import type { Evidence } from '../evidence';
import type { Check } from './violation';

/** Parts that no call and no line needs after a provider has answered it, so their faults repeat nothing. */
const UNINVOLVED = /^(auth|credentials|video-worker|films)\b|^table (api_keys|credentials|videos|webhook_deliveries)$/;
/** A lease of 30 s can be lost in a fault, which the process that had it notices up to a lease later. */
const AFTERMATH_MS = 60_000;
/** The timeout of gateways for a provider. A link that is stalled for longer costs one more answer for each. */
const TIMEOUT_MS = 4_000;
/** Faults last at most 10 s, except that of a provider that is gone, which does not answer. */
const MOST_OF_ONE_FAULT = 3;

interface Strike {
  readonly startMs: number;
  readonly endMs: number;
  /** How many answers to one prompt it may cost. */
  readonly costs: number;
}

/** Returns the whole answers to each prompt that was answered more than once, by marker. */
export function repeatsIn({ upstreamCalls }: Pick<Evidence, 'upstreamCalls'>): Map<string, UpstreamCall[]> {
  const whole = upstreamCalls.filter(({ behaviour, status }) => behaviour === 'answer' && status === 200);
  return new Map([...Map.groupBy(whole, ({ marker }) => marker)].filter(([, answers]) => answers.length > 1));
}

/**
 * A provider answers a prompt once, and again only for
 * - each fault and each death that could lose an answer or its result: once, or up to three times for a long fault. It
 *   counts if it was on between the first and the last answer, or at most `AFTERMATH_MS` before. A killed process
 *   counts twice, as a fault and as a death.
 * - each further submission of the line, as a cancelled batch may drop an answer that comes late.
 * The bound is loose in the middle of a storm, where dozens of faults are near a line. It is tight before the first
 * fault and a minute after the last one, where no answer may be repeated.
 */
export const repeatedAnswers: Check = (evidence) => {
  const strikes = strikesIn(evidence);
  const submissions = timesSubmitted(evidence);
  return [...repeatsIn(evidence)].flatMap(([marker, answers]) => {
    const starts = answers.map(({ startMs }) => startMs);
    const [first, last] = [Math.min(...starts), Math.max(...starts)];
    const near = strikes.filter(({ startMs, endMs }) => startMs <= last && endMs + AFTERMATH_MS >= first);
    const explained = near.reduce((sum, { costs }) => sum + costs, 0);
    const most = Math.max(1, submissions.get(marker) ?? 0) + explained;
    if (answers.length <= most) return [];
    return [
      {
        promise: 'answers are repeated only by faults',
        what: `${marker} was answered ${answers.length} times within ${last - first} ms, at most ${most} are explained`,
      },
    ];
  });
};

function strikesIn({ faults, deaths }: Evidence): Strike[] {
  return [
    ...faults
      .filter(({ target }) => !UNINVOLVED.test(target))
      .map(({ startMs, endMs }) => ({ startMs, endMs, costs: costsOf(endMs - startMs) })),
    ...deaths
      .filter(({ process }) => !UNINVOLVED.test(process))
      .map(({ atMs }) => ({ startMs: atMs, endMs: atMs, costs: 1 })),
  ];
}

function costsOf(durationMs: number): number {
  return Math.min(MOST_OF_ONE_FAULT, 1 + Math.floor(durationMs / TIMEOUT_MS));
}

function timesSubmitted({ batchSubmissions }: Evidence): Map<string, number> {
  const times = new Map<string, number>();
  for (const { marker } of batchSubmissions.flatMap(({ lines }) => lines)) {
    times.set(marker, (times.get(marker) ?? 0) + 1);
  }
  return times;
}
