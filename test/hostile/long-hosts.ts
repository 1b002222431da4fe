const CHARACTERS = 5_000;

/** A link whose host a parser of URLs works on for about 50 ms: its time grows with the square of a name. */
export function linkWithLongHost(): string {
  const host = Array.from({ length: CHARACTERS }, (_, index) =>
    String.fromCodePoint(0x4e00 + ((index * 7_919) % 20_000)),
  );
  return `http://${host.join('')}.com/`;
}

/** So many links of that kind that they have at least these bytes. */
export function longHosts(bytes: number): string[] {
  const link = linkWithLongHost();
  return Array.from({ length: Math.ceil(bytes / Buffer.byteLength(link)) }, () => link);
}
