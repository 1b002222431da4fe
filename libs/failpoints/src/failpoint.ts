import { writeSync } from 'node:fs';
import type { Failpoint } from './failpoint-names';
import { readFailpoint, type ArmedFailpoint } from './failpoint.env';

const STDERR = 2;

let armed: ArmedFailpoint | null = null;
let passes = 0;

/** Reads `FAILPOINT`. Until then every failpoint is passed. @throws Error for a value that is none */
export function armFailpoint(): void {
  armed = readFailpoint();
  passes = 0;
}

/**
 * Passes, unless the process was told to die here: then it kills itself by SIGKILL, as if the machine had done it,
 * and nothing after this call runs.
 *
 * A production build has no such call (scripts/failpoint-calls.cjs takes them out), so it must stand alone as a
 * statement, with the name as a literal.
 */
export function failpoint(name: Failpoint): void {
  if (armed === null || armed.name !== name) return;
  passes += 1;
  if (passes !== armed.pass) return;
  writeSync(STDERR, `Killed at the failpoint ${name}, pass ${passes}\n`);
  process.kill(process.pid, 'SIGKILL');
}
