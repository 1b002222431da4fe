import fc from 'fast-check';
import { FAILURES_TO_OPEN, LONGEST_PAUSE_MS } from './receiver-breaker';
import { ReceiverBreakers } from './receiver-breakers';

const receiver = (url: string, organizationId = 'one') => ({ organizationId, url });
const URL = receiver('https://receiver.example/hook?token=canary');
const OTHER = receiver('https://receiver.example/other');
const ATTEMPT = { kind: 'attempt', isProbe: false };
const PROBE = { kind: 'attempt', isProbe: true };

describe(ReceiverBreakers.name, () => {
  let nowMs: number;
  let dice: number;
  let breakers: ReceiverBreakers;

  beforeEach(() => {
    nowMs = 1_000;
    dice = 0;
    breakers = new ReceiverBreakers(
      () => nowMs,
      () => dice,
    );
  });

  const fail = (times: number, at = URL): boolean[] =>
    Array.from({ length: times }, () => breakers.note(at, false, 'failing'));

  /** The pause that follows, in milliseconds. */
  function pause(): number {
    const admission = breakers.admit(URL);
    return admission.kind === 'wait' ? admission.waitMs : 0;
  }

  it('lets everything through to a receiver without failures, and remembers nothing of it', () => {
    for (let index = 0; index < 100; index += 1) {
      expect(breakers.admit(URL)).toEqual(ATTEMPT);
      breakers.note(URL, false, 'alive');
    }
    expect(breakers.openCount).toBe(0);
  });

  it('opens at the fifth failure in a row, for this URL alone, and says so once', () => {
    expect(fail(FAILURES_TO_OPEN - 1)).not.toContain(true);
    expect(breakers.admit(URL)).toEqual(ATTEMPT);
    expect(fail(3)).toEqual([true, false, false]);
    expect(breakers.admit(URL)).toEqual({ kind: 'wait', waitMs: 30_000 });
    expect(breakers.admit(OTHER)).toEqual(ATTEMPT);
    expect(breakers.openCount).toBe(1);
  });

  it('holds back nothing for an organization by what happens to the events of another at its URL', () => {
    fail(FAILURES_TO_OPEN);
    const own = receiver(URL.url, 'two');
    expect(breakers.admit(own)).toEqual(ATTEMPT);
    breakers.note(own, false, 'alive');
    expect(breakers.admit(URL)).toMatchObject({ kind: 'wait' });
  });

  it('begins to count anew after a success', () => {
    fail(4);
    breakers.note(URL, false, 'alive');
    fail(4);
    expect(breakers.admit(URL)).toEqual(ATTEMPT);
  });

  it('counts nothing of what did not reach the receiver', () => {
    fail(4);
    breakers.note(URL, false, 'unknown');
    expect(breakers.admit(URL)).toEqual(ATTEMPT);
    expect(fail(1)).toEqual([true]);
  });

  it('lets one probe through when the pause is over', () => {
    fail(5);
    nowMs += 29_999;
    expect(breakers.admit(URL)).toEqual({ kind: 'wait', waitMs: 1 });
    nowMs += 1;
    expect(breakers.admit(URL)).toEqual(PROBE);
    expect(breakers.admit(URL)).toEqual({ kind: 'wait', waitMs: 5_000 });
    breakers.note(URL, true, 'alive');
    expect(breakers.admit(URL)).toEqual(ATTEMPT);
    expect(breakers.openCount).toBe(0);
  });

  it('pauses twice as long after each probe that fails, up to a quarter of an hour', () => {
    fail(5);
    const pauses: number[] = [];
    for (let probes = 0; probes < 8; probes += 1) {
      pauses.push(pause());
      nowMs += pauses.at(-1)!;
      expect(breakers.admit(URL)).toEqual(PROBE);
      breakers.note(URL, true, 'failing');
    }
    expect(pauses.map((ms) => ms / 1_000)).toEqual([30, 60, 120, 240, 480, 900, 900, 900]);
  });

  it('is not held longer by attempts that began before it opened, and is closed by one that succeeds', () => {
    fail(5);
    nowMs += 30_000;
    expect(breakers.admit(URL)).toEqual(PROBE);
    fail(4);
    expect(breakers.admit(URL)).toEqual({ kind: 'wait', waitMs: 5_000 });
    breakers.note(URL, false, 'alive');
    expect(breakers.admit(URL)).toEqual(ATTEMPT);
  });

  it('gives a probe that was not made to the next', () => {
    fail(5);
    nowMs += 30_000;
    expect(breakers.admit(URL)).toEqual(PROBE);
    breakers.note(URL, true, 'unknown');
    expect(breakers.admit(URL)).toEqual(PROBE);
  });

  it('does not wait for ever for the end of a probe', () => {
    fail(5);
    nowMs += 30_000;
    expect(breakers.admit(URL)).toEqual(PROBE);
    nowMs += 44_999;
    expect(breakers.admit(URL)).toMatchObject({ kind: 'wait' });
    nowMs += 1;
    expect(breakers.admit(URL)).toEqual(PROBE);
  });

  it('scatters pauses by up to a fifth', () => {
    dice = 1;
    fail(5);
    expect(pause()).toBe(36_000);
  });

  it('remembers 2,000 receivers and forgets the one that was longest without news', () => {
    fail(5);
    fail(5, OTHER);
    for (let index = 0; index < 1_998; index += 1) {
      fail(1, receiver(`https://r${index}.example/`));
      breakers.admit(URL);
    }
    fail(1, receiver('https://last.example/'));
    expect(breakers.admit(URL)).toMatchObject({ kind: 'wait' });
    expect(breakers.admit(OTHER)).toEqual(ATTEMPT);
    expect(breakers.openCount).toBe(1);
  });

  it('never has two probes under way, nor waits longer than its longest pause, whatever happens', () => {
    const event = fc.oneof(
      fc.nat({ max: 40_000 }).map((ms) => ({ kind: 'time', ms }) as const),
      fc.constant({ kind: 'due' } as const),
      fc.constantFrom('alive', 'failing', 'unknown').map((verdict) => ({ kind: 'end', verdict }) as const),
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 200 }), (events) => {
        let clockMs = 0;
        const tried = new ReceiverBreakers(
          () => clockMs,
          () => 1,
        );
        const underWay: { isProbe: boolean; sinceMs: number }[] = [];
        for (const each of events) {
          if (each.kind === 'time') clockMs += each.ms;
          else if (each.kind === 'end') {
            const ended = underWay.shift();
            if (ended !== undefined) tried.note(URL, ended.isProbe, each.verdict);
          } else {
            const admission = tried.admit(URL);
            if (admission.kind === 'wait') {
              expect(admission.waitMs).toBeGreaterThan(0);
              expect(admission.waitMs).toBeLessThanOrEqual(LONGEST_PAUSE_MS * 1.2);
            } else underWay.push({ isProbe: admission.isProbe, sinceMs: clockMs });
          }
          const probes = underWay.filter(({ isProbe, sinceMs }) => isProbe && clockMs - sinceMs < 45_000);
          if (tried.openCount === 1) expect(probes.length).toBeLessThanOrEqual(1);
        }
      }),
    );
  });
});
