const BYTES_PER_TOKEN = 4;

/** The one rule of counting here: a token is four bytes of UTF-8, rounded up. Deterministic, no vocabulary. */
export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

export function tokensOf(text: string): number {
  return tokensOfBytes(Buffer.byteLength(text));
}

/** Returns the longest beginning of the text with at most this many tokens, cut between two characters. */
export function cutToTokens(text: string, tokens: number): string {
  const limit = tokens * BYTES_PER_TOKEN;
  if (text.length * 3 <= limit) return text;
  const bytes = Buffer.from(text);
  if (bytes.length <= limit) return text;
  let end = limit;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}

/** Splits the text into the pieces in which it is streamed: a word with the white space before it. */
export function pieces(text: string): readonly string[] {
  return text.match(/\s*\S+|\s+$/g) ?? [];
}
