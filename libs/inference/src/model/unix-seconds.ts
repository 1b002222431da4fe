/** The time of now in whole Unix seconds, as members such as `created` have it. */
export function unixSeconds(): number {
  return Math.floor(Date.now() / 1_000);
}
