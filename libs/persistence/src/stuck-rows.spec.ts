import { StuckRows } from './stuck-rows';

const locked = Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' });

interface Row {
  readonly payer: string;
}

describe(StuckRows.name, () => {
  /** Payers whose lock is held. */
  let held: Set<string>;
  let questions: number;
  let isAway: boolean;
  let tried: Row[];
  let freed: Row[];
  let stuck: StuckRows<Row>;

  beforeEach(() => {
    jest.useFakeTimers();
    [held, questions, isAway, tried, freed] = [new Set(), 0, false, [], []];
    stuck = new StuckRows<Row>({
      keyOf: ({ payer }) => payer,
      lockedOf: async (rows) => {
        questions += 1;
        if (isAway) throw new Error('away');
        return rows.filter(({ payer }) => held.has(payer));
      },
      store: async (row) => {
        tried.push(row);
        return locked;
      },
      onFree: (rows) => freed.push(...rows),
    });
  });

  afterEach(() => jest.useRealTimers());

  const add = (...rows: readonly Row[]): void => stuck.add(rows.map((row) => ({ row, error: locked })));

  it('tries none of the rows whose lock is held, and lets all of them go soon after it is free', async () => {
    held.add('acme');
    const rows = [{ payer: 'acme' }, { payer: 'acme' }];
    add(...rows);
    await jest.advanceTimersByTimeAsync(120_000);
    const late = { payer: 'acme' };
    expect(stuck.keepIfLocked(late)).toBe(true);
    expect([tried, freed, stuck.size]).toEqual([[], [], 3]);
    expect(questions).toBeLessThan(60);
    held.clear();
    await jest.advanceTimersByTimeAsync(5_000);
    expect([tried, freed, stuck.size]).toEqual([[], [...rows, late], 0]);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('lets a row go whose lock is free, although those of many others are held', async () => {
    const rows = Array.from({ length: 300 }, (_, index) => ({ payer: `p${index}` }));
    for (const { payer } of rows) held.add(payer);
    add(...rows);
    await jest.advanceTimersByTimeAsync(60_000);
    held.delete('p7');
    await jest.advanceTimersByTimeAsync(5_000);
    expect([tried, freed, stuck.size]).toEqual([[], [rows[7]], 299]);
  });

  it('tries rows with increasing pauses whose lock is not found', async () => {
    add({ payer: 'acme' }, { payer: 'acme' });
    await jest.advanceTimersByTimeAsync(120_000);
    expect(freed).toEqual([]);
    expect(tried.length).toBeGreaterThan(4);
    expect(tried.length).toBeLessThan(12);
  });

  it('tries a row whose lock is not found as soon as if no others were locked', async () => {
    const rows = Array.from({ length: 40 }, (_, index) => ({ payer: `p${index}` }));
    for (const { payer } of rows) held.add(payer);
    add(...rows);
    await jest.advanceTimersByTimeAsync(20_000);
    const slow = { payer: 'slow' };
    add(slow);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(tried).toEqual([slow]);
  });

  it('lets no row go because a question fails', async () => {
    held.add('acme');
    add({ payer: 'acme' });
    await jest.advanceTimersByTimeAsync(10_000);
    isAway = true;
    await jest.advanceTimersByTimeAsync(10_000);
    isAway = false;
    await jest.advanceTimersByTimeAsync(10_000);
    expect([tried, freed, stuck.size]).toEqual([[], [], 1]);
  });

  it('tries one row at a time again when no question is answered', async () => {
    stuck = new StuckRows<Row>({
      keyOf: ({ payer }) => payer,
      lockedOf: () => Promise.reject(new Error('away')),
      store: async (row) => (tried.push(row), null),
      onFree: (rows) => freed.push(...rows),
    });
    const rows = [{ payer: 'acme' }, { payer: 'acme' }];
    add(...rows);
    await jest.advanceTimersByTimeAsync(1_000);
    expect([tried, freed, stuck.size]).toEqual([[rows[0]], [rows[1]], 0]);
  });
});
