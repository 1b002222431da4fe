import type { ClaimedSegment } from '@libs/persistence';
import { HeldSegment } from './held-segment';
import { nextLine, readyByQuota, waitingByQuota, WorkspaceShares } from './line-order';

function held(values: Partial<ClaimedSegment>, lines = 100, quota = 'acme'): HeldSegment {
  const claim = { attempts: 1, batchNumber: 1n, number: 0, expiresAtMs: 1_000, ...values };
  const body = Buffer.alloc(1);
  return new HeldSegment(
    claim as ClaimedSegment,
    Array.from({ length: lines }, (_, seq) => ({ seq, customId: `c${seq}`, body })),
    quota,
  );
}

describe(nextLine.name, () => {
  const all = (): boolean => true;

  it('gives workspaces the same share of the slots, however much each has brought', () => {
    const [large, small] = [held({ workspaceId: 'large' }, 1_000), held({ workspaceId: 'small', batchNumber: 2n }, 10)];
    const shares = new WorkspaceShares();
    for (let slot = 0; slot < 16; slot += 1) {
      shares.begin(nextLine([large, small], shares, all)!.segment.claim.workspaceId);
    }
    expect([shares.of('large'), shares.of('small')]).toEqual([8, 8]);
  });

  it('takes of one workspace the batch that must end first, and its lines in order', () => {
    const later = held({ workspaceId: 'one', batchNumber: 1n, expiresAtMs: 2_000 });
    const second = held({ workspaceId: 'one', batchNumber: 2n, number: 1, expiresAtMs: 1_000 });
    const first = held({ workspaceId: 'one', batchNumber: 2n, number: 0, expiresAtMs: 1_000 }, 1);
    const shares = new WorkspaceShares();
    const lines = [1, 2].map(() => nextLine([later, second, first], shares, all)!);
    expect(lines.map(({ segment }) => segment)).toEqual([first, second]);
  });

  it('passes over quotas that may not be called now', () => {
    const [resting, able] = [held({ workspaceId: 'one' }, 100, 'resting'), held({ workspaceId: 'two' })];
    const shares = new WorkspaceShares();
    for (let slot = 0; slot < 5; slot += 1) shares.begin('two');
    expect(nextLine([resting, able], shares, ({ quota }) => quota === 'acme')!.segment).toBe(able);
    expect(nextLine([resting], shares, ({ quota }) => quota === 'acme')).toBeNull();
  });

  it('counts what is ready in each quota, and what waits there', () => {
    const segments = [held({}, 3), held({}, 2, 'other'), held({}, 1)];
    const resting = segments[0]!.next()!;
    jest.useFakeTimers();
    segments[0]!.rest(resting, 1_000, () => undefined);
    expect(Object.fromEntries(readyByQuota(segments))).toEqual({ acme: 3, other: 2 });
    expect(Object.fromEntries(waitingByQuota(segments))).toEqual({ acme: 4, other: 2 });
    jest.useRealTimers();
  });
});
