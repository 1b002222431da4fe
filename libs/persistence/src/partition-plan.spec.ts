import { planPartitions } from './partition-plan';

const week = (monday: string, sunday: string) => ({ name: monday, from: monday, to: sunday });
const light = (monday: string) => ({ monday, rows: 10, bytes: 100 });
const heavy = (monday: string) => ({ monday, rows: 20_001, bytes: 0 });

// A Wednesday.
const TODAY = '2026-11-25';
const COMING = ['2026-11-23', '2026-11-30', '2026-12-07', '2026-12-14', '2026-12-21'];

describe(planPartitions.name, () => {
  it('makes this week and the coming four', () => {
    expect(planPartitions(TODAY, [], [])).toEqual({ weeks: COMING, adoption: null });
  });

  it('makes what is missing, by the bounds and not by the names', () => {
    const partitions = [week('2026-11-09', '2026-12-07'), week('2026-12-14', '2026-12-21')];
    expect(planPartitions(TODAY, partitions, []).weeks).toEqual(['2026-12-07', '2026-12-21']);
  });

  it('makes earlier weeks with rows in the default partition, and leaves those that are far ahead', () => {
    const { weeks } = planPartitions(TODAY, [], [light('2026-10-05'), light('2026-12-21'), light('2027-02-01')]);
    expect(weeks).toEqual(['2026-10-05', ...COMING]);
  });

  it('adopts the default partition where it holds too much, past all that may still come into it', () => {
    const { weeks, adoption } = planPartitions(
      TODAY,
      [week('2026-09-28', '2026-10-05')],
      [light('2026-09-07'), heavy('2026-10-05'), light('2026-11-16'), heavy('2026-11-23')],
    );
    expect(adoption).toEqual({ from: '2026-10-05', to: '2026-12-07' });
    expect(weeks).toEqual(['2026-09-07', '2026-12-07', '2026-12-14', '2026-12-21']);
  });

  it('leaves what is far ahead where it is, however much that is', () => {
    expect(planPartitions(TODAY, [], [heavy('2027-02-01')])).toEqual({ weeks: COMING, adoption: null });
  });

  it('adopts it up to the next partition', () => {
    const partitions = COMING.map((monday, index) => week(monday, COMING[index + 1] ?? '2026-12-28'));
    const { weeks, adoption } = planPartitions(TODAY, partitions, [heavy('2026-10-05'), light('2026-10-12')]);
    expect(adoption).toEqual({ from: '2026-10-05', to: '2026-11-23' });
    expect(weeks).toEqual([]);
  });

  it('moves rows out of a default partition that holds too much of two weeks with a partition between them', () => {
    const partitions = [week('2026-10-12', '2026-10-19')];
    const { weeks, adoption } = planPartitions(TODAY, partitions, [heavy('2026-10-05'), heavy('2026-11-23')]);
    expect(adoption).toEqual({ from: '2026-10-05', to: '2026-10-12' });
    expect(weeks).toEqual(COMING);
  });

  it('moves rows that are far ahead out of a default partition that is to be adopted', () => {
    const { weeks, adoption } = planPartitions(TODAY, [], [heavy('2026-11-23'), light('2027-03-01')]);
    expect(adoption).toEqual({ from: '2026-11-23', to: '2026-12-07' });
    expect(weeks).toEqual(['2026-12-07', '2026-12-14', '2026-12-21', '2027-03-01']);
  });
});
