import { limitProcessMemory, memoryBudgetBytes } from './process-memory';

const SMALL_BYTES = 100;
const NODES_OWN_POOL_BYTES = 64 * 1024;

describe(limitProcessMemory.name, () => {
  it('lets a small buffer that is kept keep little beside it', () => {
    const before = Buffer.poolSize;
    try {
      limitProcessMemory();
      // A slab that was begun before is used up first, also one that other code began.
      for (let used = 0; used < NODES_OWN_POOL_BYTES; used += SMALL_BYTES) Buffer.allocUnsafe(SMALL_BYTES);
      expect(Buffer.allocUnsafe(SMALL_BYTES).buffer.byteLength).toBeLessThanOrEqual(8 * 1024);
    } finally {
      Buffer.poolSize = before;
    }
  });
});

describe(memoryBudgetBytes.name, () => {
  const MEBIBYTE = 1024 * 1024;
  const GIBIBYTE = 1024 * MEBIBYTE;

  it.each([
    ['what the operator sets', 300, GIBIBYTE, 300 * MEBIBYTE],
    ['half of the limit of the container', 0, GIBIBYTE, 0.5 * GIBIBYTE],
    ['at least what some requests need', 0, 100 * MEBIBYTE, 64 * MEBIBYTE],
    ['at most 1 GiB where nothing is set', 0, 64 * GIBIBYTE, GIBIBYTE],
    ['by the memory of the machine, where there is no limit', 0, 0, GIBIBYTE],
    ['by the memory of the machine, where the limit is beyond it', 0, 2 ** 63, GIBIBYTE],
  ])('is %s', (_what, setMib, limitBytes, expected) => {
    expect(memoryBudgetBytes(setMib, limitBytes, limitBytes === 64 * GIBIBYTE ? limitBytes : 2 * GIBIBYTE)).toBe(
      expected,
    );
  });
});
