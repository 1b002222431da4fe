import type { ClaimedSegment } from '@libs/persistence';
import { CircuitBreakers } from './circuit-breakers';
import { HeldSegment } from './held-segment';
import { ProbeOrder } from './probe-order';

const QUOTA = 'acme model';
const REMEMBERED_MS = 600_000;

function segmentOf(workspaceId: string, batchNumber: bigint, number: number, quota = QUOTA): HeldSegment {
  const claim = { workspaceId, batchNumber, number, fence: 1n, expiresAtMs: Number(batchNumber) } as ClaimedSegment;
  return new HeldSegment(claim, [{ seq: 0, customId: 'a', body: Buffer.from('{}') }], quota);
}

describe(ProbeOrder.name, () => {
  let nowMs: number;
  let breakers: CircuitBreakers;
  let order: ProbeOrder;

  beforeEach(() => {
    nowMs = 1_000;
    breakers = new CircuitBreakers(16, () => nowMs);
    order = new ProbeOrder(breakers, () => nowMs);
    breakers.trip(QUOTA, 0);
  });

  const nextOf = (...held: readonly HeldSegment[]): HeldSegment[] => {
    order.choose(held, () => true);
    return held.filter((segment) => order.isNext(segment));
  };

  const namesOf = (segments: readonly HeldSegment[]): string[] =>
    segments.map(({ claim }) => `${claim.workspaceId} ${claim.number}`);

  const fails = (segment: HeldSegment): void => {
    nowMs += 1;
    order.failed(segment);
  };

  it('begins with the batch that must end first', () => {
    const [late, early] = [segmentOf('a', 2n, 0), segmentOf('b', 1n, 0)];
    expect(namesOf(nextOf(late, early))).toEqual(['b 0']);
  });

  it('tries another workspace after a line that failed, however many segments the first has', () => {
    const ofBad = [0, 1, 2].map((number) => segmentOf('bad', 1n, number));
    const good = segmentOf('good', 2n, 0);
    fails(ofBad[0]!);
    expect(namesOf(nextOf(...ofBad, good))).toEqual(['good 0']);
  });

  it('tries another segment of a batch after a line of the first failed, and each of them in turn', () => {
    const segments = [0, 1, 2].map((number) => segmentOf('one', 1n, number));
    const tried: number[] = [];
    for (let probe = 0; probe < 6; probe += 1) {
      const [next] = nextOf(...segments);
      tried.push(next!.claim.number);
      fails(next!);
    }
    expect(tried).toEqual([0, 1, 2, 0, 1, 2]);
  });

  it('calls first again what was answered', () => {
    const [first, second] = [segmentOf('a', 1n, 0), segmentOf('b', 2n, 0)];
    fails(first);
    order.answered(first);
    expect(namesOf(nextOf(first, second))).toEqual(['a 0']);
  });

  it('fetches others before a segment that failed, for ten minutes or until there are no others', () => {
    const [failed, other] = [segmentOf('a', 1n, 0), segmentOf('a', 1n, 1)];
    fails(failed);
    expect(order.postponed().map(({ number }) => number)).toEqual([failed.claim.number]);
    expect(order.forgetPostponed([other])).toBe(false);
    expect(order.forgetPostponed([])).toBe(true);
    expect([order.postponed(), order.forgetPostponed([])]).toEqual([[], false]);
    fails(failed);
    nowMs += REMEMBERED_MS + 1;
    expect(order.postponed()).toEqual([]);
  });

  it('orders nothing of a quota whose breaker is closed', () => {
    const [first, second] = [segmentOf('a', 1n, 0, 'acme other'), segmentOf('b', 2n, 0, 'acme other')];
    fails(first);
    expect(namesOf(nextOf(first, second))).toEqual(['a 0', 'b 0']);
    expect(order.postponed()).toEqual([]);
  });
});
