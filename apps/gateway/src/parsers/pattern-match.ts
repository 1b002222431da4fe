import type { SearchMatches, SearchSettings } from './word-match';

/**
 * Returns which texts of a JSON list match a regular expression, ignoring case, up to the given number; null for an
 * invalid pattern. Runs in a child (`parser-child.ts`).
 */
export function parse(payload: Uint8Array, { query, most }: SearchSettings): SearchMatches | null {
  const startMs = performance.now();
  const texts = JSON.parse(new TextDecoder('utf-8', { ignoreBOM: true }).decode(payload)) as string[];
  const expression = expressionOf(query);
  if (expression === null) return null;
  const places: number[] = [];
  for (let place = 0; place < texts.length && places.length < most; place += 1) {
    if (expression.test(texts[place]!)) places.push(place);
  }
  return { places, ms: performance.now() - startMs };
}

function expressionOf(pattern: string): RegExp | null {
  try {
    return new RegExp(pattern, 'i');
  } catch {
    // The engine's message repeats the pattern and does not help the caller.
    return null;
  }
}
