import type { BatchSegmentsRepository, ClaimedSegment, SegmentLease, TimedLease } from '@libs/persistence';
import { HeldSegment } from './held-segment';
import { HeldSegments } from './held-segments';
import { LeaseKeeper } from './lease-keeper';

const LINES = [{ seq: 0, customId: 'c0', body: Buffer.alloc(1) }];

describe(LeaseKeeper.name, () => {
  let held: HeldSegments;
  /** What PostgreSQL says is still held; null while it is away. */
  let kept: ((leases: readonly TimedLease[]) => readonly TimedLease[]) | null;
  let outlived: number[];
  let failures: number;
  let lostStatements: number;
  let keeper: LeaseKeeper;

  beforeEach(() => {
    held = new HeldSegments(4);
    for (const number of [0, 1]) {
      const claim = { batchNumber: 1n, number, fence: 1n, attempts: 1, windowEndsAtMs: 1_000 } as ClaimedSegment;
      held.add(new HeldSegment(claim, LINES, 'acme model'));
    }
    [kept, outlived, failures, lostStatements] = [(leases) => leases, [], 0, 0];
    const segments = {
      renew: async (leases: readonly TimedLease[]) => {
        if (kept === null) throw new Error('PostgreSQL is away');
        return kept(leases);
      },
      outlived: async (leases: readonly SegmentLease[]) => {
        lostStatements -= 1;
        if (lostStatements >= 0) throw new Error('PostgreSQL is away');
        outlived.push(...leases.map(({ number }) => number));
      },
    };
    keeper = new LeaseKeeper(segments as unknown as BatchSegmentsRepository, held, {
      onRound: () => undefined,
      onFailure: () => (failures += 1),
    });
  });

  const numbers = (): number[] => [...held].map(({ claim }) => claim.number);

  it('lets go of what another worker has, and calls its lines off', async () => {
    const [lost] = held;
    kept = (leases) => leases.filter(({ number }) => number === 1);
    await keeper.renew();
    expect(numbers()).toEqual([1]);
    expect([lost!.lost, lost!.calls.aborted]).toEqual([true, true]);
  });

  it('extends the leases of all batches but one whose segments are locked, and keeps that one', async () => {
    const claim = { batchNumber: 2n, number: 7, fence: 1n, attempts: 1, windowEndsAtMs: 1_000 } as ClaimedSegment;
    held.add(new HeldSegment(claim, LINES, 'acme model'));
    const extended: number[] = [];
    kept = (leases) => {
      if (leases.some(({ batchNumber }) => batchNumber === 1n)) {
        throw Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' });
      }
      extended.push(...leases.map(({ number }) => number));
      return leases;
    };
    await keeper.renew();
    expect([numbers(), extended, failures]).toEqual([[0, 1, 7], [7], 1]);
  });

  it('takes over what each renewal says is left of the window', async () => {
    kept = (leases) => leases.map((lease) => ({ ...lease, windowEndsAtMs: 2_000 + lease.number }));
    await keeper.renew();
    expect([...held].map(({ windowEndsAtMs }) => windowEndsAtMs)).toEqual([2_000, 2_001]);
  });

  it('says that it outlived leases that it lost while PostgreSQL was away', async () => {
    kept = null;
    await keeper.renew();
    expect([failures, numbers(), outlived]).toEqual([1, [0, 1], []]);
    kept = () => [];
    await keeper.renew();
    expect([numbers(), outlived]).toEqual([[], [0, 1]]);
  });

  it('says so again until that is stored, though it holds nothing any more', async () => {
    kept = null;
    await keeper.renew();
    kept = () => [];
    lostStatements = 2;
    await keeper.renew();
    await keeper.renew();
    expect([failures, numbers(), outlived]).toEqual([3, [], []]);
    await keeper.renew();
    await keeper.renew();
    expect(outlived).toEqual([0, 1]);
  });

  it('does not say so where it stood still, as one of its lines may have done that', async () => {
    kept = () => [];
    await keeper.renew();
    expect([numbers(), outlived]).toEqual([[], []]);
  });
});
