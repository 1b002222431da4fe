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

  it('begins no work of a request that ended early, and gives its place in the queue to others', async () => {
    const turns = new IntakeTurns();
    const gate = Promise.withResolvers<void>();
    const running = Array.from({ length: 4 }, () => turns.run(ownerOf('w'), () => gate.promise));
    const [leaving, begun] = [new AbortController(), [] as number[]];
    const submit = (index: number): Promise<unknown> =>
      turns.run(ownerOf('w'), async () => begun.push(index), leaving.signal);
    const waiting = Promise.allSettled(Array.from({ length: 100 }, (_, index) => submit(index)));
    leaving.abort();
    expect(new Set((await waiting).map(({ status }) => status))).toEqual(new Set(['rejected']));
    const others = Array.from({ length: 100 }, () => turns.run(ownerOf('w'), async () => 'written'));
    gate.resolve();
    await Promise.all(running);
    expect(new Set(await Promise.all(others))).toEqual(new Set(['written']));
    await expect(submit(100)).rejects.toMatchObject({ code: 'provider_overloaded' });
    expect(begun).toEqual([]);
  });

  it('gives a turn back when its work fails', async () => {
    const turns = new IntakeTurns();
    const failing = Array.from({ length: 20 }, () => turns.run(ownerOf('w'), () => Promise.reject(new Error('away'))));
    const ends = await Promise.allSettled(failing);
    expect(ends.every(({ status }) => status === 'rejected')).toBe(true);
    expect(await turns.run(ownerOf('w'), async () => 'written')).toBe('written');
  });
});
