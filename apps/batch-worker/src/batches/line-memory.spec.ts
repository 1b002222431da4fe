import type { ClaimedSegment } from '@libs/persistence';
import { HeldSegment } from './held-segment';
import { LineMemory } from './line-memory';

function given(number: number, lines: number): HeldSegment {
  const all = Array.from({ length: lines }, (_, seq) => ({ seq, customId: `c${seq}`, body: Buffer.alloc(1) }));
  const segment = new HeldSegment({ batchNumber: 1n, number } as ClaimedSegment, all, 'acme model');
  for (const line of segment.ready) line.tries = number + 1;
  return segment;
}

describe(LineMemory.name, () => {
  const keep = (memory: LineMemory, segment: HeldSegment): void => memory.keep(segment.claim, segment.giveBack());
  const take = (memory: LineMemory, number: number): [number, number][] =>
    [...memory.take({ batchNumber: 1n, number, fence: 9n })].map(([seq, { tries }]) => [seq, tries]);

  it('knows the tries of lines by their place, whatever the lease, and says them once', () => {
    const memory = new LineMemory();
    keep(memory, given(0, 1));
    keep(memory, given(1, 2));
    expect([take(memory, 1), take(memory, 1), take(memory, 0)]).toEqual([
      [
        [0, 2],
        [1, 2],
      ],
      [],
      [[0, 1]],
    ]);
  });

  it('holds no line in memory and no more than so many, of those given back last', () => {
    const memory = new LineMemory(5);
    for (const number of [0, 1, 2]) keep(memory, given(number, 2));
    keep(memory, given(2, 1));
    expect([0, 1, 2].map((number) => take(memory, number).length)).toEqual([0, 2, 1]);
    keep(memory, given(3, 5));
    const [tries] = memory.take({ batchNumber: 1n, number: 3, fence: 1n }).values();
    expect(tries).not.toHaveProperty('body');
    expect(tries).not.toHaveProperty('segment');
  });
});
