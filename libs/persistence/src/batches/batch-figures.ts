import type { BatchStatus } from './batch-status';

/** The data of a batch in one snapshot of the tables. Amounts are exact decimal strings in US dollars. */
export interface BatchFigures {
  readonly id: string;
  readonly number: string;
  readonly status: BatchStatus;
  readonly total: number;
  /** Null until the batch is over. */
  readonly completed: number | null;
  readonly failed: number | null;
  readonly endsAs: string | null;
  readonly usage: object | null;
  /** `usage.cost`; null where it has none. */
  readonly usageCost: number | null;
  /** True if its requests and results were removed, by its owner or after the retention time. */
  readonly isEmptied: boolean;
  readonly lines: number;
  readonly firstSeq: number | null;
  readonly lastSeq: number | null;
  readonly answered: number;
  readonly refused: number;
  /** Number of results without a line that has their seq and custom_id. */
  readonly strayResults: number;
  readonly resultsUsd: string;
  /** Sums over the results, by the dotted path of the figure in `usage`. */
  readonly usageSums: Readonly<Record<string, number | null>>;
  /** Number of results whose charge is missing or has another amount. */
  readonly mischarged: number;
  /** Number of charges to another account, workspace or key than those of the batch. */
  readonly misownedCharges: number;
  /** Number of charges with an id of the batch that belong to none of its results. */
  readonly strayCharges: number;
  readonly segments: number;
  /** Whether each line is in exactly one segment. */
  readonly areSegmentsWhole: boolean;
  /** Number of segments whose count of results differs from that of their lines. */
  readonly miscountedSegments: number;
  /** Null if there is no hold. */
  readonly holdState: 'open' | 'resolved' | null;
  readonly settledUsd: string;
  readonly isSettledAsResults: boolean;
  /** Sum of all charges with an id of the batch. */
  readonly chargedUsd: string;
  /** True also if the id of the batch produces no ids of charges. */
  readonly isSettledAsCharges: boolean;
}

export type BatchProblemKind = 'lines' | 'results' | 'counts' | 'usage' | 'charges' | 'segments' | 'hold';

export interface BatchProblem {
  readonly kind: BatchProblemKind;
  readonly message: string;
}

const TERMINAL: ReadonlySet<BatchStatus> = new Set<BatchStatus>(['completed', 'failed', 'expired', 'cancelled']);

type Check = (of: BatchFigures) => string | null;

const isOver = ({ status }: BatchFigures): boolean => TERMINAL.has(status);
/** Returns whether validation failed: nothing was run, there are no results, and the counts are 0. */
const failedValidation = ({ status, usageCost }: BatchFigures): boolean => status === 'failed' && usageCost === null;
/** Every line has a result; otherwise the batch would have ended in another way. */
const ranToItsEnd = (of: BatchFigures): boolean =>
  of.status === 'completed' || (of.status === 'failed' && of.endsAs === null && !failedValidation(of));

function numberOfResults(of: BatchFigures): string | null {
  if (!isOver(of)) return null;
  const results = of.answered + of.refused;
  if (ranToItsEnd(of) && results !== of.total) return `${results} results for ${of.total} requests`;
  if (of.answered !== of.completed) return `${of.answered} responses, but completed is ${of.completed}`;
  return of.status === 'completed' && of.refused !== of.failed
    ? `${of.refused} errors, but failed is ${of.failed}`
    : null;
}

/** A figure that is missing in `usage` is not compared, because batches of older releases have fewer. */
function otherSums({ usage, usageSums }: BatchFigures): string[] {
  return Object.entries(usageSums).flatMap(([path, sum]) => {
    const said = path.split('.').reduce<unknown>(memberOf, usage);
    return said === undefined || said === sum
      ? []
      : [`usage.${path} is ${JSON.stringify(said)}, its results have ${sum}`];
  });
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

const CHECKS: Readonly<Record<BatchProblemKind, Check>> = {
  lines: ({ isEmptied, lines, firstSeq, lastSeq, total }) => {
    if (isEmptied || (lines === total && firstSeq === 0 && lastSeq === total - 1)) return null;
    return `${lines} of ${total} lines${lines === 0 ? '' : `, numbered ${firstSeq} to ${lastSeq}`}`;
  },
  results: (of) => {
    if (of.isEmptied) return null;
    const stray = of.strayResults > 0 ? `${of.strayResults} results have no line with their seq and custom_id` : null;
    return numberOfResults(of) ?? stray;
  },
  counts: (of) => {
    if (!isOver(of)) return null;
    const sum = (of.completed ?? 0) + (of.failed ?? 0);
    return sum === (failedValidation(of) ? 0 : of.total) ? null : `completed + failed is ${sum}, total is ${of.total}`;
  },
  usage: (of) => {
    if (!isOver(of)) return null;
    const said = of.usageCost ?? 0;
    const usd = of.isEmptied ? of.settledUsd : of.resultsUsd;
    const what = of.isEmptied ? 'its hold was charged' : 'its results cost';
    const cost = said === Number(usd) ? [] : [`usage.cost is ${said}, but ${what} ${usd}`];
    const problems = of.isEmptied ? cost : [...cost, ...otherSums(of)];
    return problems.length === 0 ? null : problems.join('; ');
  },
  charges: (of) => {
    if (of.misownedCharges > 0) return `${of.misownedCharges} charges name another account, workspace or key`;
    if (of.isEmptied) {
      return of.isSettledAsCharges ? null : `its hold was charged ${of.settledUsd}, its lines ${of.chargedUsd}`;
    }
    if (of.mischarged > 0) return `${of.mischarged} results are not charged what they cost`;
    if (of.strayCharges > 0) return `${of.strayCharges} charges belong to no result`;
    return of.isSettledAsResults ? null : `its hold was charged ${of.settledUsd}, its results cost ${of.resultsUsd}`;
  },
  segments: (of) => {
    if (isOver(of)) return of.segments === 0 ? null : `${of.segments} segments are left over`;
    if (!of.areSegmentsWhole) return `its ${of.segments} segments do not cover lines 0 to ${of.total - 1} once each`;
    const miscounted = of.miscountedSegments;
    return miscounted === 0 ? null : `${miscounted} segments count other results than their lines have`;
  },
  hold: (of) => {
    if (of.holdState === null) return 'there is no hold';
    const expected = isOver(of) ? 'resolved' : 'open';
    return of.holdState === expected ? null : `the hold is ${of.holdState}`;
  },
};

/** Returns all contradictions between lines, results, counts and charges of the batch. */
export function problemsOf(figures: BatchFigures): BatchProblem[] {
  return Object.entries(CHECKS).flatMap(([kind, check]) => {
    const message = check(figures);
    return message === null ? [] : [{ kind: kind as BatchProblemKind, message }];
  });
}
