/**
 * Copies bytes into memory of their own. Node cuts small buffers from shared slabs, so a buffer that is kept for the
 * duration of a stream would keep a whole slab of some kilobytes in memory.
 */
export function keptBytes(bytes: Buffer): Buffer {
  if (bytes.buffer.byteLength === bytes.length) return bytes;
  const own = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(own);
  return own;
}
