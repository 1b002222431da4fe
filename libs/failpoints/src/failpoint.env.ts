import { FAILPOINTS, type Failpoint } from './failpoint-names';

/** Where the process is to die, and at which pass. */
export interface ArmedFailpoint {
  readonly name: Failpoint;
  readonly pass: number;
}

const FORM = /^([a-z-]+):kill9@([1-9]\d{0,6})$/;
const EXPECTED = `NAME:kill9@PASS, the pass a whole number from 1 and the name one of ${FAILPOINTS.join(', ')}`;

/** Null where none is set. @throws Error that says what is expected, never what was found */
export function readFailpoint(source: NodeJS.ProcessEnv = process.env): ArmedFailpoint | null {
  const text = source.FAILPOINT ?? '';
  if (text === '') return null;
  const [, given, pass] = FORM.exec(text) ?? [];
  const name = FAILPOINTS.find((known) => known === given);
  if (name === undefined) throw new Error(`Bad environment: FAILPOINT must be ${EXPECTED}`);
  return { name, pass: Number(pass) };
}
