import { FailedAuthentications } from './failed-authentications';

const LIMITED = expect.objectContaining({ code: 'rate_limit_exceeded' });

describe(FailedAuthentications.name, () => {
  let nowMs: number;
  let failures: FailedAuthentications;

  beforeEach(() => {
    nowMs = 0;
    failures = new FailedAuthentications(60, () => nowMs);
  });

  function fail(address: string, count: number): void {
    for (let i = 0; i < count; i += 1) {
      failures.begin(address);
      failures.end(address, true);
    }
  }

  it('refuses an address after its failures, and lets it try again within a second', () => {
    fail('a', 60);
    expect(() => failures.begin('a')).toThrow(expect.objectContaining({ retryAfterSeconds: 1 }));
    nowMs += 1_000;
    fail('a', 1);
    expect(() => failures.begin('a')).toThrow(LIMITED);
  });

  it('does not let one address speak for another', () => {
    fail('a', 60);
    failures.begin('b');
  });

  it('counts no successes', () => {
    for (let i = 0; i < 1_000; i += 1) {
      failures.begin('a');
      failures.end('a', false);
    }
    failures.begin('a');
  });

  it('lets many new keys in at once where nothing has failed', () => {
    for (let i = 0; i < 1_000; i += 1) failures.begin('a');
  });

  it('counts what is being looked up where something has failed', () => {
    fail('a', 10);
    for (let i = 0; i < 50; i += 1) failures.begin('a');
    expect(() => failures.begin('a')).toThrow(LIMITED);
  });

  it('makes nobody wait longer for failures beyond the limit', () => {
    for (let i = 0; i < 1_000; i += 1) failures.begin('a');
    for (let i = 0; i < 1_000; i += 1) failures.end('a', true);
    nowMs += 1_000;
    failures.begin('a');
  });

  it('knows the keys that were good until they are not', () => {
    failures.good('hash');
    expect(failures.isKnownGood('hash')).toBe(true);
    failures.bad('hash');
    expect(failures.isKnownGood('hash')).toBe(false);
  });

  it('limits nothing when it is off', () => {
    failures = new FailedAuthentications(0, () => nowMs);
    fail('a', 1_000);
    failures.begin('a');
  });
});
