import { setTimeout as delay } from 'node:timers/promises';
import { BriefCache } from './brief-cache';

describe(BriefCache.name, () => {
  it('reads once for all who ask at once, and for those who ask within twenty times as long', async () => {
    let reads = 0;
    const cache = new BriefCache(async (key) => {
      await delay(300);
      reads += 1;
      return `${key}-${reads}`;
    });
    expect(await Promise.all([cache.get('a'), cache.get('a'), cache.get('b')])).toEqual(['a-1', 'a-1', 'b-2']);
    expect(await cache.get('a')).toBe('a-1');
    expect(reads).toBe(2);
  });

  it('reads again once that is over', async () => {
    let reads = 0;
    const cache = new BriefCache(async () => (reads += 1));
    await cache.get('a');
    for (let tries = 0; tries < 100 && reads === 1; tries += 1) {
      await delay(10);
      await cache.get('a');
    }
    expect(reads).toBeGreaterThan(1);
  });

  it('keeps no failure', async () => {
    let reads = 0;
    const cache = new BriefCache(async () => {
      reads += 1;
      if (reads === 1) throw new Error('away');
      return reads;
    });
    await expect(cache.get('a')).rejects.toThrow('away');
    expect(await cache.get('a')).toBe(2);
  });
});
