const LONGEST = 256;

/**
 * Text of somebody else as a record keeps it: its first 256 characters. Undefined where there is none, and for
 * text that PostgreSQL cannot hold, for which nothing else of a record may be lost.
 */
export function storedText(text: unknown): string | undefined {
  if (typeof text !== 'string' || text === '') return undefined;
  const kept = text.length > LONGEST ? text.slice(0, LONGEST) : text;
  return kept.includes('\0') ? undefined : kept.toWellFormed();
}
