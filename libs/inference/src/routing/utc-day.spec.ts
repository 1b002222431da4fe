import { utcDay } from './utc-day';

describe(utcDay.name, () => {
  it('changes at midnight in UTC, in both directions', () => {
    const times = [
      '2026-11-30T23:59:59.999Z',
      '2026-12-01T00:00:00.000Z',
      '2026-11-30T00:00:00.000Z',
      '1969-12-31T23:00:00Z',
    ];
    expect(times.map((time) => utcDay(Date.parse(time)))).toEqual(times.map((time) => time.slice(0, 10)));
  });
});
