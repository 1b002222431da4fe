/**
 * Returns whether a text contains another, in linear time (Knuth, Morris, Pratt): V8's own search can take the product
 * of both lengths.
 */
export function includesText(text: string, search: string): boolean {
  if (search.length === 0) return true;
  if (search.length > text.length) return false;
  const borders = bordersOf(search);
  let matched = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    while (matched > 0 && search.charCodeAt(matched) !== code) matched = borders[matched - 1]!;
    if (search.charCodeAt(matched) === code) matched += 1;
    if (matched === search.length) return true;
  }
  return false;
}

/** Returns for each prefix the length of its longest border: its longest proper prefix that is also its suffix. */
function bordersOf(search: string): Int32Array {
  const borders = new Int32Array(search.length);
  let matched = 0;
  for (let at = 1; at < search.length; at += 1) {
    const code = search.charCodeAt(at);
    while (matched > 0 && search.charCodeAt(matched) !== code) matched = borders[matched - 1]!;
    if (search.charCodeAt(matched) === code) matched += 1;
    borders[at] = matched;
  }
  return borders;
}
