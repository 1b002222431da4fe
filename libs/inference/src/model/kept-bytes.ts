/**
 * The same bytes, in memory that holds nothing else. Small buffers are cut from common slabs, so one that is kept as
 * long as a stream goes on keeps a slab of some thousand bytes with it, which no other can use meanwhile.
 */
export function keptBytes(bytes: Buffer): Buffer {
  if (bytes.buffer.byteLength === bytes.length) return bytes;
  const own = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(own);
  return own;
}
