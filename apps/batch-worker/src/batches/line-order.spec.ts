import type { ClaimedSegment } from '@libs/persistence';
import { HeldSegment } from './held-segment';
import { nextLine, readyBy, WorkspaceShares } from './line-order';

function held(values: Partial<ClaimedSegment>, lines = 100): HeldSegment {
  const claim = { attempts: 1, batchNumber: 1n, number: 0, expiresAtMs: 1_000, quota: 'acme', ...values };
  const body = Buffer.alloc(1);
  return new HeldSegment(
    claim as ClaimedSegment,
    Array.from({ length: lines }, (_, seq) => ({ seq, customId: `c${seq}`, body })),
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
    const [resting, able] = [held({ workspaceId: 'one', quota: 'resting' }), held({ workspaceId: 'two' })];
    const shares = new WorkspaceShares();
    for (let slot = 0; slot < 5; slot += 1) shares.begin('two');
    expect(nextLine([resting, able], shares, (quota) => quota === 'acme')!.segment).toBe(able);
    expect(nextLine([resting], shares, (quota) => quota === 'acme')).toBeNull();
  });

  it('counts what is ready for each provider, and for each key there', () => {
    const segments = [
      held({ provider: 'a', quota: 'a' }, 3),
      held({ provider: 'a', quota: 'a:own' }, 2),
      held({ provider: 'b', quota: 'b' }, 1),
    ];
    expect(Object.fromEntries(readyBy('provider', segments))).toEqual({ a: 5, b: 1 });
    expect(Object.fromEntries(readyBy('quota', segments))).toEqual({ a: 3, 'a:own': 2, b: 1 });
  });
});
