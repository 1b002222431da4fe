import { limitProcessMemory } from './process-memory';

const SMALL_BYTES = 100;
const NODES_OWN_POOL_BYTES = 64 * 1024;

describe(limitProcessMemory.name, () => {
  it('lets a small buffer that is kept keep little beside it', () => {
    const before = Buffer.poolSize;
    try {
      limitProcessMemory();
      // A slab that was begun before is used up first, whoever began it.
      for (let used = 0; used < NODES_OWN_POOL_BYTES; used += SMALL_BYTES) Buffer.allocUnsafe(SMALL_BYTES);
      expect(Buffer.allocUnsafe(SMALL_BYTES).buffer.byteLength).toBeLessThanOrEqual(8 * 1024);
    } finally {
      Buffer.poolSize = before;
    }
  });
});
