import { CircuitBreakers, type BreakerNews } from './circuit-breakers';

const SLOTS = 64;
const SECOND = 1_000;

describe(CircuitBreakers.name, () => {
  let nowMs: number;
  let breakers: CircuitBreakers;

  beforeEach(() => {
    nowMs = 0;
    breakers = new CircuitBreakers(
      SLOTS,
      () => nowMs,
      () => 0,
    );
  });

  const call = (news: BreakerNews, name = 'acme'): void => {
    breakers.end(name, breakers.begin(name), news);
  };
  const calls = (count: number, news: BreakerNews): void => {
    for (let made = 0; made < count; made += 1) call(news);
  };

  it('opens at ten failures without an answer, for its own name alone', () => {
    calls(9, 'failed');
    expect(breakers.admits('acme')).toBe(true);
    call('failed');
    expect([breakers.admits('acme'), breakers.admits('other')]).toEqual([false, true]);
    expect([...breakers.open()]).toEqual(['acme']);
  });

  it('stays closed while more than a quarter of the calls is answered', () => {
    for (let round = 0; round < 100; round += 1) {
      calls(3, 'failed');
      call('worked');
    }
    expect(breakers.admits('acme')).toBe(true);
  });

  it('opens at as many failures as there may be calls at once, where that is less', () => {
    breakers = new CircuitBreakers(2, () => nowMs);
    calls(2, 'failed');
    expect(breakers.admits('acme')).toBe(false);
  });

  it('lets one probe through at a time, after pauses that double up to half a minute', () => {
    calls(10, 'failed');
    const probesAtSeconds: number[] = [];
    for (; nowMs <= 120 * SECOND; nowMs += 100) {
      if (!breakers.admits('acme')) continue;
      const isProbe = breakers.begin('acme');
      expect([isProbe, breakers.admits('acme')]).toEqual([true, false]);
      probesAtSeconds.push(nowMs / SECOND);
      breakers.end('acme', isProbe, 'failed');
    }
    expect(probesAtSeconds).toEqual([1, 3, 7, 15, 31, 61, 91]);
  });

  it('waits for as long as it is asked to, however often', () => {
    expect(breakers.trip('acme', 700)).toBe('opened');
    for (let probe = 0; probe < 3; probe += 1) {
      expect(breakers.remainingMs('acme')).toBe(700);
      nowMs += 700;
      expect(breakers.end('acme', breakers.begin('acme'), 'failed', 700)).toBe('stays open');
    }
  });

  it('spreads the probes of several workers', () => {
    breakers = new CircuitBreakers(
      SLOTS,
      () => nowMs,
      () => 0.5,
    );
    calls(10, 'failed');
    expect(breakers.remainingMs('acme')).toBe(1_100);
  });

  it('closes with a probe that is answered, and not with a call that was under way when it opened', () => {
    const underWay = breakers.begin('acme');
    calls(10, 'failed');
    breakers.end('acme', underWay, 'worked');
    expect(breakers.admits('acme')).toBe(false);
    nowMs += SECOND;
    expect(breakers.end('acme', breakers.begin('acme'), 'worked')).toBe('closed');
    expect(breakers.isOpen('acme')).toBe(false);
  });

  it('probes again at once where a probe came to nothing', () => {
    calls(10, 'failed');
    nowMs += SECOND;
    call('none');
    expect(breakers.admits('acme')).toBe(true);
  });

  it('pauses longer where a provider fails again right after a probe was answered, and forgets that in time', () => {
    const reopen = (): number => {
      nowMs += breakers.remainingMs('acme');
      call('worked');
      calls(10, 'failed');
      return breakers.remainingMs('acme');
    };
    calls(10, 'failed');
    nowMs += SECOND;
    call('failed');
    expect(reopen()).toBe(2_000);
    nowMs += 2_000;
    call('worked');
    calls(20, 'worked');
    calls(10, 'failed');
    expect(breakers.remainingMs('acme')).toBe(SECOND);
  });
});
