export interface PatternSettings {
  readonly pattern: string;
  /** After so many matches the search ends. */
  readonly most: number;
}

export interface PatternMatches {
  /** Places of the texts that match, in their order. */
  readonly places: readonly number[];
  /** How long the search took. */
  readonly ms: number;
}

/**
 * Returns which texts of a JSON list match a regular expression, in any case; null for a pattern that is none. Runs in
 * a child (`parser-child.ts`).
 */
export function parse(payload: Uint8Array, { pattern, most }: PatternSettings): PatternMatches | null {
  const texts = JSON.parse(new TextDecoder('utf-8', { ignoreBOM: true }).decode(payload)) as string[];
  const expression = expressionOf(pattern);
  if (expression === null) return null;
  const startMs = performance.now();
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
    // The words of the engine repeat the pattern and are of no use to its writer.
    return null;
  }
}
