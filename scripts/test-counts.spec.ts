import { addCounts, countsOf, noCounts } from './test-counts';

const report = {
  numPassedTests: 5,
  numFailedTests: 0,
  numPendingTests: 1,
  numTodoTests: 1,
  numRuntimeErrorTestSuites: 0,
  testResults: [],
};

describe(countsOf.name, () => {
  it('counts a file that could not run as a failed test', () => {
    expect(countsOf({ ...report, numFailedTests: 2, numRuntimeErrorTestSuites: 1 }, 1)).toEqual({
      passed: 5,
      failed: 3,
      skipped: 2,
      failures: [],
    });
  });

  it('counts a run that failed without a failed test as one failure', () => {
    expect(countsOf(report, 1).failed).toBe(1);
  });

  it('counts nothing as failed in a run that passed', () => {
    expect(countsOf(report, 0).failed).toBe(0);
  });

  it('adds up over the projects', () => {
    expect(addCounts(countsOf(report, 0), addCounts(noCounts, countsOf(report, 1)))).toEqual({
      passed: 10,
      failed: 1,
      skipped: 4,
      failures: [],
    });
  });

  it('names each failed test and each file that could not run, with the start of what was said', () => {
    const message = `\u001b[31mExpected: 1\u001b[39m\n\n${'    at a line\n'.repeat(40)}`;
    const passed = { fullName: 'adds', status: 'passed', failureMessages: [] };
    const failed = { fullName: 'subtracts', status: 'failed', failureMessages: [message] };
    const testResults = [
      { name: 'sums.spec.ts', status: 'failed', message: 'all of it', assertionResults: [passed, failed] },
      { name: 'broken.spec.ts', status: 'failed', message: 'Cannot find a module', assertionResults: [] },
      { name: 'good.spec.ts', status: 'passed', message: '', assertionResults: [passed] },
    ];
    const { failures } = countsOf({ ...report, testResults }, 1);
    expect(failures.map((failure) => failure.split('\n').length)).toEqual([16, 2]);
    expect(failures[0]).toMatch(/^subtracts\n {4}Expected: 1\n {8}at a line\n/);
    expect(failures[1]).toBe('broken.spec.ts\n    Cannot find a module');
  });
});
