/** The used parts of jest's JSON report. */
export interface JestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  /** Test files that failed outside of their tests: they do not compile, or a hook threw. */
  readonly numRuntimeErrorTestSuites: number;
}

export interface TestCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export const noCounts: TestCounts = { passed: 0, failed: 0, skipped: 0 };

/** A run that left no report. */
export const failedRun: TestCounts = { passed: 0, failed: 1, skipped: 0 };

/** A file that could not run counts as one failed test, and so does a run that failed for no reason it reports. */
export function countsOf(report: JestReport, exitCode: number): TestCounts {
  const reported = report.numFailedTests + report.numRuntimeErrorTestSuites;
  return {
    passed: report.numPassedTests,
    failed: exitCode !== 0 && reported === 0 ? 1 : reported,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

export function addCounts(left: TestCounts, right: TestCounts): TestCounts {
  return {
    passed: left.passed + right.passed,
    failed: left.failed + right.failed,
    skipped: left.skipped + right.skipped,
  };
}
