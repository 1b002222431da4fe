/** Returns the current time in whole Unix seconds, the form of fields such as `created`. */
export function unixSeconds(): number {
  return Math.floor(Date.now() / 1_000);
}
