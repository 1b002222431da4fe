/** Prints what happened, for readers of the output of a run. */
export function say(what: string): void {
  process.stderr.write(`      ${what}\n`);
}
