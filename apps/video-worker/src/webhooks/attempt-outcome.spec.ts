import { AppError } from '@libs/errors';
import { MAX_ATTEMPTS, outcomeOf, outcomeOfError, receiverVerdict, retryDelayMs } from './attempt-outcome';

const NOW_MS = Date.parse('2026-01-02T03:04:05Z');
const HOUR_MS = 3_600_000;

describe(outcomeOf, () => {
  it.each([200, 201, 202, 204, 299])('takes %d for a delivery', (status) => {
    expect(outcomeOf({ status, headers: {} }, NOW_MS)).toEqual({ kind: 'delivered', status });
  });

  it.each([100, 301, 302, 307, 400, 401, 404, 429, 500, 503])('tries again after %d', (status) => {
    expect(outcomeOf({ status, headers: { location: 'https://elsewhere.example/' } }, NOW_MS)).toMatchObject({
      kind: 'failed',
      status,
    });
  });

  it('stops at 410', () => {
    expect(outcomeOf({ status: 410, headers: {} }, NOW_MS)).toMatchObject({ kind: 'final', status: 410 });
  });

  it.each([
    ['120', 120_000],
    ['Fri, 02 Jan 2026 03:05:05 GMT', 60_000],
    ['Fri, 02 Jan 2026 03:00:00 GMT', 0],
    ['soon', null],
    ['-5', null],
    ['9'.repeat(400), null],
  ])('reads Retry-After: %s', (value, retryAfterMs) => {
    expect(outcomeOf({ status: 503, headers: { 'retry-after': value } }, NOW_MS)).toMatchObject({ retryAfterMs });
  });
});

describe(outcomeOfError, () => {
  it('gives up a URL that may not be reached', () => {
    const refused = new AppError('invalid_request', 'callback_url is refused: its host is not at a public address');
    expect(outcomeOfError(refused)).toEqual({ kind: 'final', status: null, error: refused.message });
  });

  it('tries again when the receiver cannot be reached, and says why', () => {
    const away = new AppError('provider_unavailable', 'callback_url cannot be reached', { internal: 'ECONNREFUSED' });
    expect(outcomeOfError(away)).toMatchObject({
      kind: 'failed',
      error: 'callback_url cannot be reached (ECONNREFUSED)',
    });
    expect(outcomeOfError(new AppError('timeout', 'The host did not answer in time'))).toMatchObject({
      kind: 'failed',
    });
  });
});

describe(receiverVerdict, () => {
  const verdictOf = (status: number) => receiverVerdict(outcomeOf({ status, headers: {} }, NOW_MS));

  it.each([500, 502, 503, 504, 599, 408, 429])('takes %d for a receiver that fails', (status) => {
    expect(verdictOf(status)).toBe('failing');
  });

  it.each([200, 204, 302, 400, 401, 404, 410, 422])('takes %d for one that is there', (status) => {
    expect(verdictOf(status)).toBe('alive');
  });

  it('takes no answer for a failure, and a URL that was not called for no news', () => {
    expect(receiverVerdict(outcomeOfError(new AppError('timeout', 'too slow')))).toBe('failing');
    expect(receiverVerdict(outcomeOfError(new AppError('provider_unavailable', 'away')))).toBe('failing');
    expect(receiverVerdict(outcomeOfError(new AppError('invalid_request', 'refused')))).toBe('unknown');
  });
});

describe(retryDelayMs, () => {
  const delays = (dice: number) =>
    Array.from({ length: MAX_ATTEMPTS - 1 }, (_, index) => retryDelayMs(index + 1, null, dice)!);

  it('waits longer each time, and about three days in all', () => {
    const waits = delays(0);
    expect(waits[0]).toBe(5_000);
    expect(waits.every((wait, index) => index === 0 || wait > waits[index - 1]!)).toBe(true);
    const total = waits.reduce((sum, wait) => sum + wait, 0);
    expect(total).toBeGreaterThan(72 * HOUR_MS);
    expect(total).toBeLessThan(80 * HOUR_MS);
  });

  it('scatters attempts by up to a fifth', () => {
    expect(delays(1)).toEqual(delays(0).map((wait) => Math.round(wait * 1.2)));
  });

  it('ends after ten attempts', () => {
    expect(MAX_ATTEMPTS).toBe(10);
    expect(retryDelayMs(10, 1_000, 0)).toBeNull();
    expect(retryDelayMs(11, null, 0)).toBeNull();
  });

  it('waits as long as the receiver wants, a day at most, and never less than the schedule', () => {
    expect(retryDelayMs(1, 60_000, 0)).toBe(60_000);
    expect(retryDelayMs(1, 1_000, 0)).toBe(5_000);
    expect(retryDelayMs(1, 900 * HOUR_MS, 0)).toBe(24 * HOUR_MS);
  });
});
