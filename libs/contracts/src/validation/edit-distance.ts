/**
 * Returns the number of changes that make one text of the other: letters added, removed or replaced, and neighbours
 * swapped. Needs time in proportion to the product of the lengths.
 */
export function editDistance(one: string, other: string): number {
  let before: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const cost = one[i - 1] === other[j - 1] ? 0 : 1;
      const isSwap = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      const swapped = isSwap ? before[j - 2]! + 1 : Infinity;
      row.push(Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + cost, swapped));
    }
    before = last;
    last = row;
  }
  return last[other.length]!;
}

/** Letters of a text for each that may be wrong. */
const LETTERS_PER_SLIP = 4;
const MOST_SLIPS = 2;

/** Returns how many slips of the keyboard make one text of the other; null if they are more than a slip or two. */
export function slipsBetween(one: string, other: string): number | null {
  const most = Math.min(MOST_SLIPS, Math.floor(Math.min(one.length, other.length) / LETTERS_PER_SLIP));
  if (Math.abs(one.length - other.length) > most) return null;
  const slips = editDistance(one, other);
  return slips > most ? null : slips;
}
