// A production build has no failpoints: no call, no import, no library. This takes them out of what tsc has written.

/** `import … from '@libs/failpoints'`, as tsc writes it. */
const IMPORT = /^const failpoints_1 = require\("@libs\/failpoints"\);$/m;
/** A call that is a statement. What takes its place is an empty one, so an `if` before it keeps its own branch. */
const CALL = /^( *)\(0, failpoints_1\.(?:failpoint|armFailpoint)\)\((?:'[a-z-]+')?\);$/gm;

/**
 * The program without its failpoints. Lines stay where they are, so its source map stays right.
 *
 * @param {string} program JavaScript as tsc writes it
 * @returns {string}
 * @throws {Error} when something of a failpoint is left: a call inside an expression, a name that is no literal
 */
function withoutFailpoints(program) {
  if (!/failpoint/i.test(program)) return program;
  const stripped = program.replace(IMPORT, '').replaceAll(CALL, '$1;');
  const left = /^.*failpoint.*$/im.exec(stripped);
  if (left === null) return stripped;
  throw new Error(`a failpoint must be a statement of its own with a literal name: ${left[0].trim()}`);
}

module.exports = { withoutFailpoints };
