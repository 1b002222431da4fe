/** Returns the CRC of so many bits that begins with zeros and takes the highest bit of each byte first. */
export function checksum(bytes: Buffer, polynomial: number, width: number): number {
  const top = 2 ** (width - 1);
  let sum = 0;
  for (const byte of bytes) {
    sum ^= byte << (width - 8);
    for (let bit = 0; bit < 8; bit += 1) sum = (sum & top ? (sum << 1) ^ polynomial : sum << 1) & (2 * top - 1);
  }
  return sum >>> 0;
}
