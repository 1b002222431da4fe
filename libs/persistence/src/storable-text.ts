/**
 * Text of somebody else, as PostgreSQL can hold it: a caller's names and a provider's words may have a NUL, and a row
 * that PostgreSQL refuses for it would never end.
 */
export function storableText(text: string): string {
  return text.replaceAll('\0', '\u{fffd}').toWellFormed();
}
