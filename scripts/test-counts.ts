import { stripVTControlCharacters } from 'node:util';

/** The used parts of jest's JSON report. */
export interface JestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  /** Test files that failed outside of their tests: they do not compile, or a hook threw. */
  readonly numRuntimeErrorTestSuites: number;
  readonly testResults: readonly JestFile[];
}

export interface JestFile {
  /** Path of the file. */
  readonly name: string;
  readonly status: string;
  /** What jest printed about the file as a whole. */
  readonly message: string;
  readonly assertionResults: readonly {
    readonly fullName: string;
    readonly status: string;
    readonly failureMessages?: readonly string[];
  }[];
}

export interface TestCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Each failed test, or file that could not run, with the start of what was said about it. */
  readonly failures: readonly string[];
}

const MOST_LINES = 15;

export const noCounts: TestCounts = { passed: 0, failed: 0, skipped: 0, failures: [] };

/** A run that left no report. */
export const failedRun: TestCounts = { passed: 0, failed: 1, skipped: 0, failures: [] };

/** A file that could not run counts as one failed test, and so does a run that failed for no reason it reports. */
export function countsOf(report: JestReport, exitCode: number): TestCounts {
  const reported = report.numFailedTests + report.numRuntimeErrorTestSuites;
  return {
    passed: report.numPassedTests,
    failed: exitCode !== 0 && reported === 0 ? 1 : reported,
    skipped: report.numPendingTests + report.numTodoTests,
    failures: report.testResults.flatMap(failuresOf),
  };
}

export function addCounts(left: TestCounts, right: TestCounts): TestCounts {
  return {
    passed: left.passed + right.passed,
    failed: left.failed + right.failed,
    skipped: left.skipped + right.skipped,
    failures: [...left.failures, ...right.failures],
  };
}

function failuresOf({ name, status, message, assertionResults }: JestFile): string[] {
  const failed = assertionResults.filter((result) => result.status === 'failed');
  if (failed.length === 0) return status === 'failed' ? [shortened(name, message)] : [];
  return failed.map(({ fullName, failureMessages = [] }) => shortened(fullName, failureMessages.join('\n')));
}

function shortened(title: string, message: string): string {
  const lines = stripVTControlCharacters(message)
    .split('\n')
    .filter((line) => line.trim() !== '');
  return [title, ...lines.slice(0, MOST_LINES).map((line) => `    ${line}`)].join('\n');
}
