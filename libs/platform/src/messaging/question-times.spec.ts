import { problemOfTime } from './question-times';

const NOW = Date.parse('2026-11-25T12:00:00Z');
const READ = { repeat: 'harmless', timeoutMs: 2_000 } as const;
const CHANGE = { repeat: 'refused', timeoutMs: 5_000 } as const;

const problemOf = (contract: typeof READ | typeof CHANGE, expiresInMs: number): string | null =>
  problemOfTime(contract, { asker: 'gateway', expiresAtMs: NOW + expiresInMs }, NOW);

describe(problemOfTime.name, () => {
  it('lets the clocks of hosts differ by half a minute', () => {
    expect([problemOf(READ, -29_000), problemOf(READ, 31_000)]).toEqual([null, null]);
  });

  it('names the app whose clock is behind, and by how much', () => {
    expect(problemOf(READ, -42_000)).toContain('the clock of gateway is behind ours by that');
    expect(problemOf(READ, -42_000)).toContain('it ran out 42 s ago');
  });

  it('names the app whose clock is ahead, and by how much', () => {
    expect(problemOf(READ, 92_000)).toContain('the clock of gateway is 90 s ahead of ours');
  });

  it('leaves it to the clock of PostgreSQL whether a change comes too late', () => {
    expect(problemOf(CHANGE, -3_600_000)).toBeNull();
    expect(problemOf(CHANGE, 95_000)).toContain('the clock of PostgreSQL is 90 s ahead of ours');
  });

  it('drops a question whose time is no number', () => {
    expect([problemOf(READ, Number.NaN), problemOf(CHANGE, Number.NaN)]).not.toContain(null);
  });
});
