const LONGEST = 256;

/**
 * Returns the first 256 characters of a foreign text, for a record. Undefined if there is none, or if PostgreSQL cannot
 * store it: the rest of the record must not be lost because of it.
 */
export function storedText(text: unknown): string | undefined {
  if (typeof text !== 'string' || text === '') return undefined;
  const kept = text.length > LONGEST ? text.slice(0, LONGEST) : text;
  return kept.includes('\0') ? undefined : kept.toWellFormed();
}
