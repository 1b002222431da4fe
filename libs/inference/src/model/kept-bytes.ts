/**
 * Returns the same bytes in memory of their own. Node cuts small buffers from shared slabs, so a buffer that is kept as
 * long as a stream would keep a slab of some thousand bytes in memory.
 */
export function keptBytes(bytes: Buffer): Buffer {
  if (bytes.buffer.byteLength === bytes.length) return bytes;
  const own = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(own);
  return own;
}
