import { Logger } from '@nestjs/common';
import type { PartitionsRepository, SingleRunner } from '@libs/persistence';
import { PartitionKeeperService } from './partition-keeper.service';

const PLAN = { weeks: ['2026-11-23'], adoption: { from: '2026-10-05', to: '2026-10-12' } };

describe(PartitionKeeperService.name, () => {
  let failing: boolean;
  let adopted: string[];
  let keeper: PartitionKeeperService;

  beforeEach(() => {
    Logger.overrideLogger(false);
    [failing, adopted] = [false, []];
    const partitions = {
      dropCheck: async () => undefined,
      deleteExpiredStrays: async () => 0,
      plan: async () => PLAN,
      makeWeek: async () => {
        if (failing) throw new Error('canceling statement due to lock timeout');
        return 0;
      },
      adoptDefault: async (table: string) => void adopted.push(table),
      expired: async () => [],
      countStrays: async () => 0,
    };
    const runner = { run: async (_task: string, _turn: object, work: () => Promise<unknown>) => work() };
    keeper = new PartitionKeeperService(
      partitions as unknown as PartitionsRepository,
      runner as unknown as SingleRunner,
    );
  });

  it('leaves a default partition alone while a week of its rows could not be made', async () => {
    // Until its check is gone, no other row could be written that has no partition: not even one of today.
    failing = true;
    await keeper.keep();
    expect(adopted).toEqual([]);
  });

  it('adopts it when all other weeks are there', async () => {
    await keeper.keep();
    expect(adopted).toEqual(['batch_lines', 'batch_results', 'generations']);
  });
});
