/** A defect put in on purpose, and the test that must turn red for it: a test that passes with it is worth nothing. */
export interface Mutant {
  readonly name: string;
  readonly defect: string;
  readonly file: string;
  /** Stands exactly once in the file. */
  readonly find: string;
  readonly replace: string;
  readonly project: 'unit' | 'integration';
  /** Part of the path of the test file. */
  readonly spec: string;
  /** Part of the name of the test that must turn red, and of all that run; left out for any test of the file. */
  readonly test?: string;
}
