import type { LineOutcome, StoreReport } from '@libs/persistence';
import { ResultWriter, type ResultWriterOptions } from './result-writer';

const outcome = (seq: number, bytes = 1): LineOutcome => ({ seq, body: Buffer.alloc(bytes) }) as LineOutcome;

class FakeStore {
  readonly groups: number[][] = [];
  failures = 0;

  async store(outcomes: readonly LineOutcome[]): Promise<StoreReport> {
    await new Promise((resolve) => setImmediate(resolve));
    if (this.failures > 0) {
      this.failures -= 1;
      throw new Error('the database is away');
    }
    this.groups.push(outcomes.map(({ seq }) => seq));
    return { stored: outcomes.length, batchesWithDoneSegments: [], batchesAheadOfHold: [] };
  }
}

describe(ResultWriter.name, () => {
  let store: FakeStore;
  let stored: number[];
  let failures: number;

  beforeEach(() => {
    store = new FakeStore();
    stored = [];
    failures = 0;
  });

  function writer(options: Partial<ResultWriterOptions> = {}): ResultWriter {
    return new ResultWriter(store, {
      gatherMs: 1,
      fullRows: 4,
      mostRows: 4,
      mostWeight: 100,
      ...options,
      onStored: (outcomes) => stored.push(...outcomes.map(({ seq }) => seq)),
      onFailure: () => (failures += 1),
    });
  }

  it('commits what came together in one group, and never more than fits', async () => {
    const sut = writer();
    for (let seq = 0; seq < 10; seq += 1) sut.add(outcome(seq));
    await sut.flush();
    expect(store.groups).toEqual([
      [0, 1, 2, 3],
      [4, 5, 6, 7],
      [8, 9],
    ]);
    expect(stored).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(sut.pending).toBe(0);
  });

  it('says what the outcomes weigh that are not stored, until none is left', async () => {
    const weights: number[] = [];
    const sut = writer({ onWeight: (bytes) => weights.push(bytes) });
    for (let seq = 0; seq < 3; seq += 1) sut.add(outcome(seq, 10));
    expect(weights).toEqual([10, 20, 30]);
    store.failures = 1;
    await sut.flush();
    await new Promise((resolve) => setImmediate(resolve));
    expect(weights.slice(3)).toEqual([30, 0]);
  });

  it('commits what came during a commit at once when that is enough of company', async () => {
    const sut = writer({ fullRows: 2, gatherMs: 60_000 });
    for (let seq = 0; seq < 2; seq += 1) sut.add(outcome(seq));
    for (let seq = 2; seq < 5; seq += 1) sut.add(outcome(seq));
    while (stored.length < 5) await new Promise((resolve) => setImmediate(resolve));
    expect(store.groups).toEqual([
      [0, 1],
      [2, 3, 4],
    ]);
  });

  it('waits for no company when there is none to come', async () => {
    const sut = writer({ fullRows: 100, mostRows: 100, gatherMs: 2_147_483_647 });
    sut.hurry();
    sut.add(outcome(0));
    sut.hurry();
    sut.add(outcome(1));
    sut.hurry();
    while (stored.length < 2) await new Promise((resolve) => setImmediate(resolve));
    expect(store.groups).toEqual([[0], [1]]);
  });

  it('closes a group when it is heavy enough', async () => {
    const sut = writer();
    for (let seq = 0; seq < 3; seq += 1) sut.add(outcome(seq, 60));
    await sut.flush();
    expect(store.groups).toEqual([[0, 1], [2]]);
  });

  it('counts large answers that wait for several, so that their bytes are bounded', async () => {
    const sut = writer({ mostWeight: 1_000_000_000, fullRows: 100, gatherMs: 60_000 });
    sut.add(outcome(0, 2_000));
    expect(sut.pending).toBe(1);
    sut.add(outcome(1, 64 * 1024 * 1024));
    expect(sut.pending).toBe(2 + 512);
    await sut.flush();
    expect(sut.pending).toBe(0);
  });

  it('commits a lone outcome without waiting for others', async () => {
    const sut = writer();
    sut.add(outcome(7));
    await sut.flush();
    expect(stored).toEqual([7]);
  });

  it('keeps outcomes while the database is away and commits each once when it is back', async () => {
    const sut = writer();
    store.failures = 2;
    sut.add(outcome(1));
    await sut.flush();
    expect(failures).toBe(2);
    expect(store.groups).toEqual([[1]]);
  });
});
