/**
 * Returns the text without what PostgreSQL refuses: NUL becomes U+FFFD, lone surrogates too. Field names of callers and
 * messages of providers may contain them, and a job whose error cannot be stored would never end.
 */
export function storableText(text: string): string {
  return text.replaceAll('\0', '\u{fffd}').toWellFormed();
}
