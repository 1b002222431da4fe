/** A change of one place. */
export interface Edit {
  readonly file: string;
  /** Text that occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
}

/** A defect put in on purpose, and the test that must turn red for it: a test that passes with it is worth nothing. */
export interface Mutant extends Edit {
  readonly name: string;
  readonly defect: string;
  /** A second fence, taken down with the first: what one of them still stops does no harm that a test could see. */
  readonly fence?: Edit;
  readonly project: 'unit' | 'integration';
  /** Part of the path of the test file. */
  readonly spec: string;
  /** Part of the name of the test that must turn red, and of all that run; left out for any test of the file. */
  readonly test?: string;
}

export function editsOf(mutant: Mutant): readonly Edit[] {
  return mutant.fence === undefined ? [mutant] : [mutant, mutant.fence];
}
