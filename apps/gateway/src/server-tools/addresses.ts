const ADDRESS = /https?:\/\/[^\s<>"'`\])}]{1,2000}/gi;

/** Returns the first URLs in a text, each once. Punctuation at the end of a sentence is not part of a URL. */
export function addressesIn(text: string, most = Number.POSITIVE_INFINITY): readonly string[] {
  const found = new Set<string>();
  for (const [address] of text.matchAll(ADDRESS)) {
    found.add(address.replace(/[.,;:!?]{1,3}$/, ''));
    if (found.size === most) break;
  }
  return [...found];
}
