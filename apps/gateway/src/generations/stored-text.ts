const LONGEST = 256;

/**
 * Returns foreign text as a record keeps it: its first 256 characters. Undefined if there is none, or if PostgreSQL
 * cannot hold it: the rest of the record must not be lost because of it.
 */
export function storedText(text: unknown): string | undefined {
  if (typeof text !== 'string' || text === '') return undefined;
  const kept = text.length > LONGEST ? text.slice(0, LONGEST) : text;
  return kept.includes('\0') ? undefined : kept.toWellFormed();
}
