import { readRetryAfterSeconds } from './retry-after';

const nowMs = Date.parse('2026-11-21T09:00:00Z');

const read = (headers: Record<string, string>, body: string = ''): number | undefined =>
  readRetryAfterSeconds(headers, Buffer.from(body), nowMs);

describe(readRetryAfterSeconds.name, () => {
  it.each([
    [{ 'retry-after': '7' }, 7],
    [{ 'retry-after': ' 1.2 ' }, 2],
    [{ 'retry-after': '0' }, 1],
    [{ 'retry-after': 'Sat, 21 Nov 2026 09:00:30 GMT' }, 30],
    [{ 'retry-after': 'Sat, 21 Nov 2026 08:00:00 GMT' }, 1],
    [{ 'retry-after': '99999999' }, 86_400],
    [{ 'retry-after-ms': '1500', 'retry-after': '9' }, 2],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': '-5x' }, undefined],
    [{}, undefined],
  ])('reads the headers %j as %s', (headers, seconds) => {
    expect(read(headers)).toBe(seconds);
  });

  it.each([
    ['Please try again in 1.5s.', 2],
    ['try again in 20ms', 1],
    ['Try again in 1m30.5s. Visit', 91],
    ['try again in 6m0s', 360],
    ['try again in 1h2m3s', 3_723],
    ['try again in 2 seconds', 2],
    ['{"retryDelay": "34.07s"}', 35],
    ['exceeded the call rate limit. Please retry after 6 seconds.', 6],
    ['Please retry in 39.8371s.', 40],
    ['Try again in 1 minute 5 seconds', 65],
    ['Please retry after 20 milliseconds', 1],
    ['try again in 5 months', undefined],
    ['try again later', undefined],
    ['', undefined],
  ])('reads the body %j as %s', (body, seconds) => {
    expect(read({}, body)).toBe(seconds);
  });

  it('reads a date by the clock of the provider, where that is another than ours', () => {
    const headers = { date: 'Sat, 21 Nov 2026 10:00:00 GMT', 'retry-after': 'Sat, 21 Nov 2026 10:00:05 GMT' };
    expect(read(headers)).toBe(5);
    expect(read({ ...headers, date: 'yesterday' })).toBe(3_605);
  });

  it('believes a header before a body', () => {
    expect(read({ 'retry-after': '3' }, 'try again in 50s')).toBe(3);
  });

  it('is not kept busy by a hostile body', () => {
    const before = process.threadCpuUsage();
    read({}, 'try again in 1h1m1s1'.repeat(100_000));
    const { user, system } = process.threadCpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(2_000);
  });
});
