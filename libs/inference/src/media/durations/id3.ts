/**
 * Returns the size of the ID3v2 tag at the start of a file, including its header; 0 if there is none. The size has four
 * times seven bits. Null for a beginning that only some decoders treat as a tag.
 */
export function tagBytes(head: Buffer): number | null {
  if (head.length < 10 || head.toString('latin1', 0, 3) !== 'ID3') return 0;
  const sizes = [...head.subarray(6, 10)];
  if (head[3] === 0xff || head[4] === 0xff || sizes.some((size) => size > 0x7f)) return null;
  const footer = (head[5]! & HAS_FOOTER) === 0 ? 0 : 10;
  return sizes.reduce((size, seven) => size * 128 + seven, 0) + 10 + footer;
}

const HAS_FOOTER = 0x10;
