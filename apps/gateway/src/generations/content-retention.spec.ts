import { ContentRetention } from './content-retention';

const here = { run: (_task: string, _turn: object, work: () => Promise<unknown>) => work() };

describe(ContentRetention.name, () => {
  it('deletes until nothing is due any more', async () => {
    const asked: number[] = [];
    const parts = [500, 500, 3];
    const purgeOlderThan = async (days: number) => {
      asked.push(days);
      const deleted = parts.shift() ?? 0;
      return { deleted, isDone: deleted < 500 };
    };
    await new ContentRetention({ purgeOlderThan }, 30, here).purge();
    expect(asked).toEqual([30, 30, 30]);
  });

  it('outlives a database that is away', async () => {
    const purgeOlderThan = () => Promise.reject(new Error('away'));
    await expect(new ContentRetention({ purgeOlderThan }, 30, here).purge()).resolves.toBeUndefined();
  });
});
