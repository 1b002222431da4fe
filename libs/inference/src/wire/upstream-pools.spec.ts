import { UpstreamPools } from './upstream-pools';

describe(UpstreamPools.name, () => {
  const connect = () => undefined;

  it('keeps a pool for each place of callers’ own, and gives up the one that is idle for longest', async () => {
    const pools = new UpstreamPools(connect);
    const of = (index: number) => pools.ofOwnPlace(`https://tenant-${index}.example`, 4);
    const [first, second] = [of(0)!, of(1)!];
    expect(of(0)).toBe(first);
    for (let index = 2; index < 512; index += 1) of(index);
    first.load.places.enter([]);
    expect(of(512)).not.toBeNull();
    expect(of(0)).toBe(first);
    expect(of(1)).not.toBe(second);
    expect(second.pool.destroyed).toBe(true);
    await pools.close();
  });

  it('refuses a further place while all carry calls', async () => {
    const pools = new UpstreamPools(connect);
    for (let index = 0; index < 512; index += 1) {
      pools.ofOwnPlace(`https://tenant-${index}.example`, 4)!.load.places.enter([]);
    }
    expect(pools.ofOwnPlace('https://tenant-512.example', 4)).toBeNull();
    await pools.close();
  });

  it('has none where nothing guards them', async () => {
    const pools = new UpstreamPools(null);
    expect(pools.ofOwnPlace('https://tenant.example', 4)).toBeNull();
    await pools.close();
  });
});
