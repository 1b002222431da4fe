import type { ClaimedSegment } from '@libs/persistence';
import { HeldSegment } from './held-segment';
import { HeldSegments } from './held-segments';

const MIB = 1024 * 1024;
const SLOTS = 64;

describe(HeldSegments.name, () => {
  let silent: Set<string>;
  let held: HeldSegments;

  beforeEach(() => {
    silent = new Set();
    held = new HeldSegments(SLOTS, (quota) => silent.has(quota));
  });

  /** Holds segments of one line of 4 MiB. */
  function hold(quota: string, segments: number): void {
    for (let number = 0; number < segments; number += 1) {
      const line = { seq: number, customId: `c${number}`, body: Buffer.alloc(4 * MIB) };
      held.add(new HeldSegment({ attempts: 1 } as ClaimedSegment, [line], quota));
    }
  }

  it('takes no more than 64 MiB of lines', () => {
    hold('acme', 15);
    expect([held.isHeavy, held.isFull]).toEqual([false, false]);
    hold('acme', 1);
    expect([held.isHeavy, held.isFull]).toEqual([true, true]);
  });

  it('does not count lines at a provider that does not answer, whose calls may hang for minutes', () => {
    hold('hung', 16);
    expect(held.isFull).toBe(true);
    silent.add('hung');
    expect(held.isFull).toBe(false);
    hold('healthy', 16);
    expect(held.isFull).toBe(true);
  });
});
