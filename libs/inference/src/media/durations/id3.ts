/** The size of the ID3v2 tag that a file begins with: four times seven bits, and its own head; 0 without one. */
export function tagBytes(head: Buffer): number {
  if (head.length < 10 || head.toString('latin1', 0, 3) !== 'ID3') return 0;
  const size = (head[6]! << 21) | (head[7]! << 14) | (head[8]! << 7) | head[9]!;
  return size + 10;
}
