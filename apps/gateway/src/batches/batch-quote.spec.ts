import { parseUsd } from '@libs/inference';
import type { QuotedBatch } from '@libs/persistence';
import { quoteBatch, type QuoteFacts } from './batch-quote';

const DAY_MS = 24 * 3_600_000;
const FACTS: QuoteFacts = {
  workspaceId: 'own',
  lane: 'managed',
  ownKey: false,
  estimate: parseUsd('2'),
  expectedMs: 100_000,
  past: [],
};

/** Batches that cost 11 %, 12 %, … of their estimates and took 101 %, 102 %, … of what was expected. */
function past(count: number, changes: Partial<QuotedBatch> = {}): QuotedBatch[] {
  return Array.from({ length: count }, (_, index) => ({
    workspaceId: 'own',
    lane: 'managed',
    ownKey: false,
    costRatio: 0.11 + index / 100,
    finishRatio: 1.01 + index / 100,
    ...changes,
  }));
}

describe(quoteBatch, () => {
  it('knows of cost what the lines say, and of time nothing but the window, when nothing was measured', () => {
    expect(quoteBatch({ ...FACTS, expectedMs: null })).toEqual({
      lane: 'managed',
      own_key: false,
      cost: { estimate: '2', low: '0', high: '2', basis: 'request' },
      finish: { expected_ms: null, low_ms: 0, high_ms: DAY_MS, basis: 'window' },
    });
  });

  it('doubts a forecast that was never compared with an end', () => {
    expect(quoteBatch(FACTS).finish).toEqual({
      expected_ms: 100_000,
      low_ms: 25_000,
      high_ms: 460_000,
      basis: 'throughput',
    });
  });

  it('is as wide as the errors of the past, once there were nine', () => {
    expect(quoteBatch({ ...FACTS, past: past(8) }).cost.basis).toBe('request');
    expect(quoteBatch({ ...FACTS, past: past(9) })).toMatchObject({
      cost: { estimate: '2', low: '0.22', high: '0.38', basis: 'history' },
      finish: { expected_ms: 100_000, low_ms: 101_000, high_ms: 109_000, basis: 'history' },
    });
  });

  it('never promises an end after the window', () => {
    const { finish } = quoteBatch({ ...FACTS, expectedMs: 2 * DAY_MS, past: past(9) });
    expect(finish).toMatchObject({ low_ms: DAY_MS, high_ms: DAY_MS });
  });

  it('learns the cost from the own workspace, and from others until that has enough', () => {
    const others = past(9, { workspaceId: 'other', costRatio: 0.5 });
    expect(quoteBatch({ ...FACTS, past: [...others, ...past(8)] }).cost.high).toBe('1');
    expect(quoteBatch({ ...FACTS, past: [...others, ...past(9)] }).cost).toMatchObject({ low: '0.22', high: '0.38' });
  });

  it('does not compare what is charged for own keys with what is charged for ours', () => {
    expect(quoteBatch({ ...FACTS, ownKey: true, past: past(9) }).cost.basis).toBe('request');
    expect(quoteBatch({ ...FACTS, ownKey: true, past: past(9, { ownKey: true }) }).cost.basis).toBe('history');
  });

  it('takes durations at a provider as they were, and says the window until there are enough', () => {
    const native = { ...FACTS, lane: 'native', expectedMs: 3_600_000 } as const;
    expect(quoteBatch({ ...native, past: past(9) }).finish).toMatchObject({
      low_ms: 0,
      high_ms: DAY_MS,
      basis: 'window',
    });
    const { finish } = quoteBatch({ ...native, past: past(9, { lane: 'native', finishRatio: 1.5 }) });
    expect(finish).toMatchObject({ low_ms: 5_400_000, high_ms: 5_400_000, basis: 'history' });
  });

  it('rounds money outwards, and gives nothing for nothing', () => {
    const odd = past(9, { costRatio: 1 / 3 });
    expect(quoteBatch({ ...FACTS, estimate: 10n, past: odd }).cost).toMatchObject({
      low: '0.000000000003',
      high: '0.000000000004',
    });
    expect(quoteBatch({ ...FACTS, estimate: 0n, past: odd }).cost).toMatchObject({ low: '0', high: '0' });
  });
});
