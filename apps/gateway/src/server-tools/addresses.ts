const ADDRESS = /https?:\/\/[^\s<>"'`\])}]{1,2000}/gi;

/** The first addresses of a text, each once. A sentence may end behind an address. */
export function addressesIn(text: string, most = Number.POSITIVE_INFINITY): readonly string[] {
  const found = new Set<string>();
  for (const [address] of text.matchAll(ADDRESS)) {
    found.add(address.replace(/[.,;:!?]{1,3}$/, ''));
    if (found.size === most) break;
  }
  return [...found];
}
