import { metricsRegistry } from '../telemetry/metrics';
import { EachAlone } from './each-alone';

describe(EachAlone.name, () => {
  let nowMs: number;
  let warnings: string[];
  let each: EachAlone;
  let handled: string[];
  let broken: Set<string>;

  beforeEach(() => {
    metricsRegistry.resetMetrics();
    nowMs = 0;
    warnings = [];
    handled = [];
    broken = new Set();
    each = new EachAlone('test', { warn: (text: string) => warnings.push(text) }, () => nowMs);
  });

  const handleAll = (ids: readonly string[]): Promise<number> =>
    each.forEach(
      ids,
      (id) => id,
      async (id) => {
        if (broken.has(id)) throw new Error('broken');
        handled.push(id);
      },
    );

  async function failures(): Promise<number> {
    const metric = await metricsRegistry.getSingleMetric('sluice_task_item_failures_total')!.get();
    return metric.values.reduce((sum, { value }) => sum + value, 0);
  }

  it('handles what comes after one that throws', async () => {
    broken.add('a');
    expect(await handleAll(['a', 'b'])).toBe(1);
    expect(handled).toEqual(['b']);
    expect(await failures()).toBe(1);
  });

  it('tries one of those that share what fails, and the others five seconds later', async () => {
    const tried: string[] = [];
    const work = async (id: string): Promise<void> => {
      tried.push(id);
      if (id.startsWith('locked')) throw new Error('a lock timeout');
    };
    const all = (ids: readonly string[]): Promise<number> =>
      each.forEach(
        ids,
        (id) => id,
        work,
        (id) => id.split(' ')[0],
      );
    expect(await all(['locked 1', 'locked 2', 'locked 3', 'free 1', 'free 2'])).toBe(2);
    expect(tried).toEqual(['locked 1', 'free 1', 'free 2']);
    expect(each.restingIds()).toEqual(['locked 1', 'locked 2', 'locked 3']);
    nowMs = 5_000;
    expect(each.restingIds()).toEqual([]);
    expect(await failures()).toBe(1);
  });

  it('leaves a failing one alone for longer each time, up to five minutes', async () => {
    broken.add('a');
    const triedAtSeconds: number[] = [];
    for (; nowMs <= 1_500_000; nowMs += 1_000) {
      const before = await failures();
      await handleAll(['a']);
      if ((await failures()) > before) triedAtSeconds.push(nowMs / 1_000);
    }
    expect(triedAtSeconds).toEqual([0, 5, 15, 35, 75, 155, 315, 615, 915, 1_215]);
  });

  it('names those that rest, and logs a failure once until it has succeeded', async () => {
    broken.add('a');
    await handleAll(['a', 'b']);
    expect(each.restingIds()).toEqual(['a']);
    nowMs = 5_000;
    expect(each.restingIds()).toEqual([]);
    await handleAll(['a']);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('a failed');
    broken.clear();
    nowMs = 20_000;
    await handleAll(['a']);
    broken.add('a');
    await handleAll(['a']);
    expect(warnings).toHaveLength(3);
    expect(each.restingIds()).toEqual(['a']);
  });

  it('remembers no more than ten thousand, and none that did not come back', async () => {
    const ids = Array.from({ length: 10_050 }, (_, index) => `id-${index}`);
    for (const id of ids) broken.add(id);
    await handleAll(ids);
    expect(each.restingIds()).toHaveLength(10_000);
    nowMs = 400_000;
    expect(each.restingIds()).toEqual([]);
    const metric = await metricsRegistry.getSingleMetric('sluice_task_items_resting')!.get();
    expect(metric.values.map(({ value }) => value)).toEqual([0]);
  });
});
