import { setImmediate as nextRound } from 'node:timers/promises';
import type { BatchOwner } from '@libs/persistence';
import { IntakeTurns } from './intake-turns';

const ownerOf = (workspaceId: string): BatchOwner => ({ workspaceId, organizationId: 'acme', apiKeyHash: 'h' });

describe(IntakeTurns, () => {
  it('lets one workspace write so many batches at once that others can write too', async () => {
    const turns = new IntakeTurns();
    const gate = Promise.withResolvers<void>();
    let running = 0;
    const write = (owner: BatchOwner): Promise<void> =>
      turns.run(owner, async () => {
        running += 1;
        await gate.promise;
        running -= 1;
      });
    const many = Array.from({ length: 20 }, () => write(ownerOf('many')));
    await nextRound();
    expect(running).toBe(4);
    let isOtherDone = false;
    const other = turns.run({ ...ownerOf('other'), organizationId: 'other' }, async () => void (isOtherDone = true));
    await other;
    expect(isOtherDone).toBe(true);
    gate.resolve();
    await Promise.all(many);
    expect(running).toBe(0);
  });

  it('gives a turn back when its work fails', async () => {
    const turns = new IntakeTurns();
    const failing = Array.from({ length: 20 }, () => turns.run(ownerOf('w'), () => Promise.reject(new Error('away'))));
    const ends = await Promise.allSettled(failing);
    expect(ends.every(({ status }) => status === 'rejected')).toBe(true);
    expect(await turns.run(ownerOf('w'), async () => 'written')).toBe('written');
  });
});
