import type { ClaimedSegment } from '@libs/persistence';
import { HeldSegment } from './held-segment';
import { LaneQuotas } from './lane-quotas';

const SLOTS = 4;

function held(quota: string, lines = 100): HeldSegment {
  return new HeldSegment(
    { attempts: 1, quota } as ClaimedSegment,
    Array.from({ length: lines }, (_, seq) => ({ seq, customId: `c${seq}`, body: Buffer.alloc(1) })),
  );
}

describe(LaneQuotas.name, () => {
  let quotas: LaneQuotas;

  beforeEach(() => {
    jest.useFakeTimers();
    quotas = new LaneQuotas(SLOTS);
  });

  afterEach(() => jest.useRealTimers());

  it('pauses one key at a provider and no other', () => {
    quotas.pause('acme:own', 1_000);
    expect(['acme', 'acme:own', 'acme:another'].map((quota) => quotas.mayCall(quota))).toEqual([true, false, true]);
    expect(quotas.keptOut([])).toEqual(['acme:own']);
    jest.advanceTimersByTime(1_000);
    expect(quotas.mayCall('acme:own')).toBe(true);
    expect(quotas.keptOut([])).toEqual([]);
  });

  it('slows one key down and no other', () => {
    quotas.end(quotas.begin('acme:own'), 'congested');
    expect(['acme', 'acme:own'].map((quota) => quotas.limitOf(quota))).toEqual([SLOTS, SLOTS / 2]);
  });

  it('fetches no more of a key of which enough is held, and is short while the rest cannot run', () => {
    const many = held('acme:own', 8 * SLOTS);
    expect(quotas.keptOut([many, held('acme', 1)])).toEqual(['acme:own']);
    expect(quotas.isShort([many])).toBe(false);
    quotas.pause('acme:own', 1_000);
    expect(quotas.isShort([many])).toBe(true);
  });

  it('gives back what is paused, last first, save what is under way', () => {
    const [busy, first, second, able] = [held('acme:own'), held('acme:own'), held('acme:own'), held('acme')];
    busy.next();
    quotas.pause('acme:own', 1_000);
    expect([...quotas.blocked(new Set([busy, first, able, second]))]).toEqual([second, first]);
    expect(quotas.keptOut([])).toEqual(['acme:own']);
    jest.advanceTimersByTime(1_000);
    expect(quotas.keptOut([])).toEqual([]);
  });

  it('keeps the next lines of a key that has all the slots it gets, and fetches few of it for a while', () => {
    const [busy, next, later] = [held('acme', SLOTS), held('acme', SLOTS), held('acme', SLOTS)];
    for (let slot = 0; slot < SLOTS; slot += 1) {
      quotas.begin('acme');
      busy.next();
    }
    expect([...quotas.blocked(new Set([busy, next, later]))]).toEqual([later]);
    expect(quotas.keptOut([busy, next])).toEqual(['acme']);
    expect(quotas.keptOut([busy])).toEqual([]);
    jest.advanceTimersByTime(15_000);
    expect(quotas.keptOut([busy, next])).toEqual([]);
  });
});
