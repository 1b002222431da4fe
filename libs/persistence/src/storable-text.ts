/**
 * Returns the text without characters that PostgreSQL refuses: NUL and lone surrogates become U+FFFD. Field names of
 * callers and messages of providers may contain them, and a job whose error cannot be stored would never end.
 */
export function storableText(text: string): string {
  return text.replaceAll('\0', '\u{fffd}').toWellFormed();
}
