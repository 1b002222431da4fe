// Preloaded into an app (`node --require`): with FAILPOINT=NAME:kill9@PASS the app kills itself when it passes that
// failpoint for the PASS-th time. An app without this file knows nothing of the variable: its failpoints are calls of an
// empty function, which is replaced here.
const { writeSync } = require('node:fs');
const { join } = require('node:path');

const LIBRARY = join(__dirname, '../../dist/libs/failpoints/src');
const STDERR = 2;
const FORM = /^([a-z-]+):kill9@([1-9]\d{0,6})$/;

/**
 * Where the process is to die, and at which pass.
 *
 * @param {string} text
 * @param {readonly string[]} names
 * @returns {{ name: string, pass: number }}
 * @throws {Error} that says what is expected
 */
function readFailpoint(text, names) {
  const [, given, pass] = FORM.exec(text) ?? [];
  const name = names.find((known) => known === given);
  if (name !== undefined) return { name, pass: Number(pass) };
  const expected = `NAME:kill9@PASS, the pass a whole number from 1 and the name one of ${names.join(', ')}`;
  throw new Error(`FAILPOINT must be ${expected}`);
}

/** SIGKILL, as if the machine had done it: nothing after the call of the failpoint runs. */
function dieAt({ name, pass }) {
  let passes = 0;
  require(join(LIBRARY, 'failpoint.js')).failpoint = (passed) => {
    if (passed !== name) return;
    passes += 1;
    if (passes !== pass) return;
    writeSync(STDERR, `Killed at the failpoint ${name}, pass ${passes}\n`);
    process.kill(process.pid, 'SIGKILL');
  };
}

const wanted = process.env.FAILPOINT ?? '';
if (wanted !== '') dieAt(readFailpoint(wanted, require(join(LIBRARY, 'failpoint-names.js')).FAILPOINTS));

module.exports = { readFailpoint };
