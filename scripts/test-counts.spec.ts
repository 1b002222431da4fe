import { addCounts, countsOf, noCounts } from './test-counts';

const report = {
  numPassedTests: 5,
  numFailedTests: 0,
  numPendingTests: 1,
  numTodoTests: 1,
  numRuntimeErrorTestSuites: 0,
};

describe(countsOf.name, () => {
  it('counts a file that could not run as a failed test', () => {
    expect(countsOf({ ...report, numFailedTests: 2, numRuntimeErrorTestSuites: 1 }, 1)).toEqual({
      passed: 5,
      failed: 3,
      skipped: 2,
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
    });
  });
});
