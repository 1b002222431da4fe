import { SharedPool, type Rooms } from './shared-pool';

function takeAll(pool: SharedPool, holders: readonly string[]): number {
  let count = 0;
  while (pool.take(holders)) count += 1;
  return count;
}

describe(SharedPool.name, () => {
  it('lets one holder alone take most, and never all', () => {
    const pool = new SharedPool(100, [4]);
    expect(takeAll(pool, ['a'])).toBe(80);
    expect(pool.taken).toBe(80);
  });

  it('leaves something for the next one, however many come', () => {
    const pool = new SharedPool(1_000, [4]);
    for (let i = 0; i < 4; i += 1) expect(takeAll(pool, [`holder-${i}`])).toBeGreaterThan(0);
    expect(pool.take(['newcomer'])).toBe(true);
  });

  it('shares evenly once holders that had more have given back', () => {
    const pool = new SharedPool(100, [4]);
    for (let held = takeAll(pool, ['a']), other = 0; other < held;) {
      pool.give(['a']);
      held -= 1;
      while (pool.take(['a'])) held += 1;
      if (pool.take(['b'])) other += 1;
      else held -= Number((pool.give(['a']), true));
    }
    expect(takeAll(pool, ['a'])).toBeLessThan(2);
  });

  it('counts a workspace for its organization as well', () => {
    const pool = new SharedPool(90, [4, 8]);
    let count = 0;
    for (let i = 0; i < 100; i += 1) count += takeAll(pool, [`workspace-${i}`, 'one organization']);
    // The last ones come in as newcomers to their own share, and not to that of their organization.
    expect(count).toBe(80);
    expect(pool.take(['elsewhere', 'another organization'])).toBe(true);
  });

  it('takes nothing when it takes not all', () => {
    const pool = new SharedPool(10, [4]);
    expect(pool.take(['a'], 11)).toBe(false);
    expect(pool.take(['a'], 10)).toBe(true);
    expect(pool.take(['b'])).toBe(false);
    pool.give(['a'], 10);
    expect(pool.taken).toBe(0);
  });

  it('returns how much each holder may take while no other takes any', () => {
    for (const weight of [0.5, 1, 2, 4]) {
      const pool = new SharedPool(12, [weight]);
      for (let i = 0; i < 3; i += 1) pool.take(['a']);
      pool.take(['b']);
      for (const holder of ['a', 'b', 'newcomer']) {
        const [{ of, newcomer }] = pool.rooms() as [Rooms];
        const room = of[holder] ?? newcomer;
        expect(takeAll(pool, [holder])).toBe(room);
        for (let i = 0; i < room; i += 1) pool.give([holder]);
      }
    }
  });
});
