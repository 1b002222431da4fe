import type { CommitMoment } from '../support/fault-proxy';
import type { StormViolation } from './checks/violation';
import { chargedIn } from './checks/money-checks';
import { repeatsIn } from './checks/repeat-checks';
import type { Evidence } from './evidence';

export interface StormResult {
  readonly seed: number;
  readonly violations: readonly StormViolation[];
  readonly counts: Readonly<Record<string, number | string>>;
  readonly seconds: number;
  /** Where history and logs are; null when they were removed. */
  readonly folder: string | null;
}

const EXAMPLES = 4;

/** What a storm was made of. */
export function countsOf(
  evidence: Evidence,
  commitCuts: Readonly<Record<CommitMoment, number>>,
): StormResult['counts'] {
  const { calls, requests, batches, videos, keys, faults, deaths, dump } = evidence;
  const tally = (texts: readonly string[]): string =>
    [...Map.groupBy(texts, (text) => text)]
      .toSorted(([, left], [, right]) => right.length - left.length)
      .map(([text, some]) => `${text} ${some.length}`)
      .join(', ');
  return {
    calls: calls.length,
    'calls by status': tally(calls.map(({ status }) => String(status ?? 'none'))),
    streams: calls.filter(({ streamed }) => streamed).length,
    'other requests': requests.length,
    'others by status': tally(requests.map(({ status }) => String(status ?? 'none'))),
    batches: batches.length,
    'batches by end': tally(dump.batches.map(({ status, deleted }) => (deleted ? 'deleted' : status))),
    lines: batches.reduce((sum, { lines }) => sum + lines.length, 0),
    videos: videos.length,
    keys: keys.length,
    'upstream calls': evidence.upstreamCalls.length,
    'repeated answers': repeatsText(evidence),
    charged: `$${chargedIn(evidence)}`,
    faults: tally(faults.map(({ kind }) => kind)),
    'commits cut': `${commitCuts.before} before, ${commitCuts.after} after, ${commitCuts.answered} answered`,
    deaths: tally(deaths.map(({ process }) => process)),
  };
}

/** How many answers providers gave again, and how many of them to one prompt. */
function repeatsText(evidence: Evidence): string {
  const repeats = [...repeatsIn(evidence).values()].map((answers) => answers.length - 1);
  const all = repeats.reduce((sum, times) => sum + times, 0);
  return `${all} of ${repeats.length} prompts, at most ${Math.max(0, ...repeats)} of one`;
}

/** The report of one storm, for people. */
export function reportOf({ seed, violations, counts, seconds, folder }: StormResult): string {
  const lines = Object.entries(counts).map(([name, value]) => `  ${name.padEnd(18)}${value}`);
  const byPromise = Map.groupBy(violations, ({ promise }) => promise);
  const broken = [...byPromise].flatMap(([promise, some]) => [
    `  BROKEN ${promise}: ${some.length}`,
    ...(promise === 'no internal error' ? causesOf(some) : []),
    ...some.slice(0, EXAMPLES).map(({ what }) => `    ${what}`),
    ...(some.length > EXAMPLES ? [`    … and ${some.length - EXAMPLES} more`] : []),
  ]);
  const verdict = violations.length === 0 ? 'all invariants hold' : `${byPromise.size} invariants broken`;
  const where = folder === null ? [] : [`  history, logs and violations: ${folder}`];
  return [...lines, ...broken, ...where, `storm seed ${seed}: ${verdict} (${Math.round(seconds)} s)`].join('\n');
}

/** How often each cause of an answer of 500 was logged; a violation begins with it. */
function causesOf(violations: readonly StormViolation[]): string[] {
  const byCause = Map.groupBy(violations, ({ what }) => /^(.*?): (?:\d+|null) /.exec(what)?.[1] ?? what);
  return [...byCause]
    .toSorted(([, left], [, right]) => right.length - left.length)
    .map(([cause, some]) => `    ${String(some.length).padStart(5)} × ${cause}`);
}

/** One line per storm. */
export function tableOf(results: readonly StormResult[]): string {
  const head = 'seed   calls  batches   lines  videos  violations';
  const rows = results.map(({ seed, counts, violations }) =>
    [
      String(seed).padStart(4),
      String(counts['calls']).padStart(8),
      String(counts['batches']).padStart(9),
      String(counts['lines']).padStart(8),
      String(counts['videos']).padStart(8),
      `  ${violations.length === 0 ? 'none' : [...new Set(violations.map(({ promise }) => promise))].join('; ')}`,
    ].join(''),
  );
  return [head, ...rows].join('\n');
}
