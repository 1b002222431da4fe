import { AppError } from '@libs/errors';
import type { GenerationSettlement } from '@libs/persistence';
import { anOpening, aSettlement } from '@libs/persistence/testing';
import { DelayedCharges } from './delayed-charges';

const silent = { log() {}, warn() {}, error() {} };

describe(DelayedCharges.name, () => {
  /** Each statement with the ids of its rows, and the time at which it began. */
  let statements: { readonly what: 'keep' | 'remove'; readonly ids: readonly string[]; readonly atMs: number }[];
  let commitMs: number;
  let isAway: boolean;
  let delayed: DelayedCharges;

  beforeEach(() => {
    jest.useFakeTimers();
    [statements, commitMs, isAway] = [[], 0, false];
    const run = async (what: 'keep' | 'remove', ids: readonly string[]): Promise<void> => {
      statements.push({ what, ids, atMs: performance.now() - beganMs });
      if (isAway) throw new AppError('unavailable', 'away');
      if (commitMs > 0) await new Promise((go) => setTimeout(go, commitMs));
    };
    const beganMs = performance.now();
    delayed = new DelayedCharges(
      {
        keep: (charges) =>
          run(
            'keep',
            charges.map(({ id }) => id),
          ),
        remove: (ids) => run('remove', ids),
      },
      silent,
    );
  });

  afterEach(() => jest.useRealTimers());

  const newCharge = (): GenerationSettlement => {
    const charge = aSettlement(anOpening(), '0.25');
    delayed.add(charge);
    return charge;
  };

  it('writes a charge down that was not committed within 0.3 seconds', async () => {
    const early = newCharge();
    await jest.advanceTimersByTimeAsync(99);
    const late = newCharge();
    await jest.advanceTimersByTimeAsync(1_000);
    expect(statements).toEqual([
      { what: 'keep', ids: [early.id], atMs: 200 },
      { what: 'keep', ids: [late.id], atMs: 300 },
    ]);
  });

  it('writes down nothing of a charge that is committed sooner', async () => {
    for (let count = 0; count < 20; count += 1) {
      const charge = newCharge();
      await jest.advanceTimersByTimeAsync(150);
      delayed.done(charge);
    }
    await jest.advanceTimersByTimeAsync(1_000);
    expect([statements, jest.getTimerCount()]).toEqual([[], 0]);
  });

  it('begins to write as soon as the commit before is done, where commits take a second', async () => {
    commitMs = 1_000;
    const first = newCharge();
    await jest.advanceTimersByTimeAsync(201);
    const second = newCharge();
    await jest.advanceTimersByTimeAsync(5_000);
    expect(statements).toEqual([
      { what: 'keep', ids: [first.id], atMs: 200 },
      { what: 'keep', ids: [second.id], atMs: 1_200 },
    ]);
  });

  it('removes what is committed meanwhile, and goes on writing down', async () => {
    commitMs = 1_000;
    const first = newCharge();
    await jest.advanceTimersByTimeAsync(500);
    delayed.done(first);
    const second = newCharge();
    await jest.advanceTimersByTimeAsync(5_000);
    delayed.done(second);
    await jest.advanceTimersByTimeAsync(5_000);
    expect(statements).toMatchObject([
      { what: 'keep', ids: [first.id] },
      { what: 'keep', ids: [second.id] },
      { what: 'remove', ids: [first.id] },
      { what: 'remove', ids: [second.id] },
    ]);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('writes down everything once PostgreSQL is back', async () => {
    isAway = true;
    const charges = [newCharge(), newCharge()];
    await jest.advanceTimersByTimeAsync(60_000);
    const tries = statements.length;
    expect(tries).toBeLessThan(25);
    isAway = false;
    await jest.advanceTimersByTimeAsync(5_100);
    expect(statements.slice(tries)).toMatchObject([{ what: 'keep', ids: charges.map(({ id }) => id) }]);
  });
});
