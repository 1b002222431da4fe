import { monotonicMs, quotaGroupsOf } from '@libs/inference';
import { aCatalogue, aModel } from '@libs/inference/testing';
import type { ClaimedSegment } from '@libs/persistence';
import { HeldSegment } from './held-segment';
import { LaneQuotas, type CallNews } from './lane-quotas';

const SLOTS = 4;
const SECOND = 1_000;
const ANSWERED: CallNews = { quota: 'worked', caller: 'worked', window: 'answered', pauseMs: null, isHeard: true };
const FAILED: CallNews = { quota: 'failed', caller: 'none', window: 'other', pauseMs: null, isHeard: false };
const CALLER_FAILED: CallNews = { quota: 'none', caller: 'failed', window: 'other', pauseMs: null, isHeard: false };
const CONGESTED: CallNews = { quota: 'failed', caller: 'none', window: 'congested', pauseMs: null, isHeard: false };

function held(quota: string, lines = 100, apiKeyHash = 'key'): HeldSegment {
  return new HeldSegment(
    { attempts: 1, apiKeyHash, provider: 'acme' } as ClaimedSegment,
    Array.from({ length: lines }, (_, seq) => ({ seq, customId: `c${seq}`, body: Buffer.alloc(1) })),
    quota,
  );
}

describe(LaneQuotas.name, () => {
  let quotas: LaneQuotas;
  let due: number;

  beforeEach(() => {
    jest.useFakeTimers();
    due = 0;
    const groups = quotaGroupsOf(aCatalogue(aModel()));
    quotas = new LaneQuotas({ slots: SLOTS, groups: () => groups, onProbeDue: () => (due += 1) });
  });

  afterEach(() => jest.useRealTimers());

  const call = (segment: HeldSegment, news: CallNews): void => quotas.end(quotas.begin(segment), news);
  const fail = (segment: HeldSegment, times = SLOTS, news = FAILED): void => {
    for (let made = 0; made < times; made += 1) call(segment, news);
  };
  const keptOut = (segments: readonly HeldSegment[]): string[] =>
    quotas.keptOut(segments).models.map(({ upstreamModel }) => upstreamModel);
  const mayCall = (...names: string[]): boolean[] => names.map((quota) => quotas.mayCall(held(quota)));

  it('pauses one quota and no other', () => {
    call(held('acme one'), { ...FAILED, pauseMs: SECOND });
    expect(mayCall('acme two', 'acme one', 'acme:own one')).toEqual([true, false, true]);
    expect(quotas.keptOut([])).toEqual({
      models: [{ account: 'acme', upstreamModel: 'one' }],
      apiKeyHashes: [],
      segments: [],
    });
    jest.advanceTimersByTime(SECOND);
    expect(mayCall('acme one')).toEqual([true]);
    expect(keptOut([])).toEqual([]);
  });

  it('counts one call for a quota during a long pause, and all shortly before its end, as after a short one', () => {
    const quota = 'acme one';
    call(held(quota), { ...FAILED, pauseMs: 30 * SECOND });
    expect(quotas.limitOf(quota)).toBe(SLOTS);
    call(held(quota), { ...FAILED, pauseMs: 120 * SECOND });
    expect(quotas.limitOf(quota)).toBe(1);
    jest.advanceTimersByTime(89 * SECOND);
    expect(quotas.limitOf(quota)).toBe(1);
    jest.advanceTimersByTime(SECOND);
    expect(quotas.limitOf(quota)).toBe(SLOTS);
  });

  it('ends pauses in their time when the clock of the host is set back', () => {
    call(held('acme one'), { ...FAILED, pauseMs: SECOND });
    const poor = held('acme two');
    poor.fund.pausedUntilMs = monotonicMs() + SECOND;
    expect([mayCall('acme one'), quotas.mayCall(poor)]).toEqual([[false], false]);
    jest.setSystemTime(Date.now() - 3_600 * SECOND);
    jest.advanceTimersByTime(SECOND);
    expect([mayCall('acme one'), quotas.mayCall(poor)]).toEqual([[true], true]);
  });

  it('slows one quota down and no other', () => {
    call(held('acme one'), CONGESTED);
    expect(['acme two', 'acme one'].map((quota) => quotas.limitOf(quota))).toEqual([SLOTS, SLOTS / 2]);
  });

  it('goes on fetching for a quota of which one call hangs, and not for one whose calls all do', () => {
    quotas.begin(held('acme one'));
    for (let calls = 0; calls < SLOTS; calls += 1) quotas.begin(held('acme two'));
    jest.advanceTimersByTime(60 * SECOND);
    expect(keptOut([held('acme one', 1), held('acme two', 1)])).toEqual(['two']);
    expect(quotas.isShort([held('acme two', 8 * SLOTS)])).toBe(true);
    expect(quotas.isShort([held('acme one', 8 * SLOTS)])).toBe(false);
  });

  it('fetches no more of a quota of which enough is held, and is short while the rest cannot run', () => {
    const many = held('acme one', 8 * SLOTS);
    expect(keptOut([many, held('acme two', 1)])).toEqual(['one']);
    expect(quotas.isShort([many])).toBe(false);
    call(held('acme one'), { ...FAILED, pauseMs: SECOND });
    expect(quotas.isShort([many])).toBe(true);
  });

  it('gives back what is paused, last first, save what is under way', () => {
    const [busy, first, second, able] = [held('acme one'), held('acme one'), held('acme one'), held('acme two')];
    busy.next();
    call(held('acme one'), { ...FAILED, pauseMs: SECOND });
    expect([...quotas.blocked(new Set([busy, first, able, second]))]).toEqual([second, first]);
    expect(keptOut([])).toEqual(['one']);
    jest.advanceTimersByTime(SECOND);
    expect(keptOut([])).toEqual([]);
  });

  it('cannot reach what waits behind an open breaker, of a quota or an API key, save what is under way', () => {
    const [mine, busy, able] = [held('acme one'), held('acme one'), held('acme two')];
    const [keyless, other] = [held('acme two', 1, 'mine'), held('acme two', 1, 'other')];
    busy.next();
    const all = [mine, busy, able, keyless, other];
    expect(quotas.unreachable(all)).toEqual([]);
    fail(mine);
    fail(keyless, SLOTS, CALLER_FAILED);
    expect(quotas.unreachable(all)).toEqual([mine, keyless]);
    // Its lines may be the next probes; only one of them begins.
    jest.advanceTimersByTime(1.2 * SECOND);
    expect(quotas.unreachable(all)).toEqual([]);
    const probe = quotas.begin(busy);
    expect(quotas.unreachable(all)).toEqual([mine]);
    quotas.end(probe, FAILED);
    busy.drop();
    expect(quotas.unreachable(all)).toEqual([mine, busy]);
    jest.advanceTimersByTime(3 * SECOND);
    call(mine, ANSWERED);
    call(keyless, ANSWERED);
    expect(quotas.unreachable(all)).toEqual([]);
  });

  it('cannot reach what waits behind an open breaker while its provider asks for quiet', () => {
    const segment = held('acme one');
    fail(segment);
    jest.advanceTimersByTime(1.2 * SECOND);
    call(segment, { ...FAILED, pauseMs: 60 * SECOND });
    jest.advanceTimersByTime(30 * SECOND);
    expect(quotas.unreachable([segment])).toEqual([segment]);
  });

  it('keeps the next lines of a quota that has all the slots it gets, and fetches few of it for a while', () => {
    const [busy, next, later] = [held('acme any', SLOTS), held('acme any', SLOTS), held('acme any', SLOTS)];
    for (let slot = 0; slot < SLOTS; slot += 1) {
      quotas.begin(busy);
      busy.next();
    }
    expect([...quotas.blocked(new Set([busy, next, later]))]).toEqual([later]);
    expect(keptOut([busy, next])).toEqual(['any']);
    expect(keptOut([busy])).toEqual([]);
    jest.advanceTimersByTime(15_000);
    expect(keptOut([busy, next])).toEqual([]);
  });

  describe('a quota whose provider asks for quiet', () => {
    const ASKS: CallNews = { ...FAILED, pauseMs: 20 * SECOND };
    const flight = (...ends: readonly CallNews[]): void => {
      const segment = held('acme one');
      const tickets = ends.map(() => quotas.begin(segment));
      jest.advanceTimersByTime(10);
      ends.forEach((news, index) => quotas.end(tickets[index]!, news));
    };

    it('gets as many lines as before when the time is over', () => {
      flight(ASKS, ASKS, ASKS, ASKS);
      expect(mayCall('acme one')).toEqual([false]);
      jest.advanceTimersByTime(20 * SECOND);
      expect([quotas.limitOf('acme one'), ...mayCall('acme one')]).toEqual([SLOTS, true]);
    });

    it('gets one line at a time where nothing was answered since it asked before', () => {
      flight(ASKS, ASKS, ASKS, ASKS);
      jest.advanceTimersByTime(20 * SECOND);
      flight(ASKS, ASKS, ASKS, ASKS);
      jest.advanceTimersByTime(20 * SECOND);
      expect(quotas.limitOf('acme one')).toBe(1);
      const probe = quotas.begin(held('acme one'));
      expect(mayCall('acme one')).toEqual([false]);
      quotas.end(probe, ASKS);
      jest.advanceTimersByTime(19 * SECOND);
      expect(mayCall('acme one')).toEqual([false]);
      jest.advanceTimersByTime(SECOND);
      expect(mayCall('acme one')).toEqual([true]);
    });

    it('is probed when the last of the calls that were under way may be repeated', () => {
      flight(ASKS, ASKS);
      jest.advanceTimersByTime(20 * SECOND);
      const segment = held('acme one');
      const [first, last] = [quotas.begin(segment), quotas.begin(segment)];
      quotas.end(first, ASKS);
      jest.advanceTimersByTime(SECOND / 2);
      quotas.end(last, ASKS);
      jest.advanceTimersByTime(19.5 * SECOND);
      expect([due, ...mayCall('acme one')]).toEqual([0, false]);
      jest.advanceTimersByTime(SECOND / 2);
      expect([due, ...mayCall('acme one')]).toEqual([1, true]);
    });

    it('keeps its lines in turn where some are answered between', () => {
      for (let times = 0; times < 5; times += 1) {
        flight(ASKS, ANSWERED, ASKS, ASKS);
        flight(ANSWERED);
        jest.advanceTimersByTime(20 * SECOND);
      }
      expect(quotas.limitOf('acme one')).toBe(SLOTS);
    });
  });

  describe('a quota whose calls only fail', () => {
    it('gets one line at a time as a probe, whatever it got before, and says when the next is due', () => {
      const segment = held('acme one');
      fail(segment);
      expect(mayCall('acme one', 'acme two')).toEqual([false, true]);
      expect(quotas.untilProbeMs(segment)).toBeGreaterThanOrEqual(SECOND);
      jest.advanceTimersByTime(1.2 * SECOND);
      expect(due).toBe(1);
      expect(mayCall('acme one')).toEqual([true]);
      const probe = quotas.begin(segment);
      expect(mayCall('acme one')).toEqual([false]);
      quotas.end(probe, FAILED);
      jest.advanceTimersByTime(1.9 * SECOND);
      expect(mayCall('acme one')).toEqual([false]);
      jest.advanceTimersByTime(0.5 * SECOND);
      expect([due, ...mayCall('acme one')]).toEqual([2, true]);
    });

    it('is not sent all that waits when a probe was answered', () => {
      const segment = held('acme one');
      fail(segment);
      jest.advanceTimersByTime(1.2 * SECOND);
      call(segment, ANSWERED);
      expect(quotas.limitOf('acme one')).toBe(1);
      for (let answers = 0; answers < SLOTS; answers += 1) call(segment, ANSWERED);
      expect(quotas.limitOf('acme one')).toBe(SLOTS);
    });

    it('is not fetched while a line of it is held or no probe is due, so its lines fill no hands', () => {
      const [mine, other] = [held('acme one', 1), held('acme two', 1)];
      fail(mine);
      expect(keptOut([])).toEqual(['one']);
      expect(quotas.isShort([held('acme one')])).toBe(true);
      jest.advanceTimersByTime(1.2 * SECOND);
      expect(keptOut([other])).toEqual([]);
      expect(keptOut([mine, other])).toEqual(['one']);
    });

    it('has its segments given back where there is no room, and is fetched again for the next probe', () => {
      const [mine, other] = [held('acme one'), held('acme two')];
      fail(mine);
      expect([...quotas.blocked(new Set([mine, other]))]).toEqual([mine]);
      expect(keptOut([])).toEqual(['one']);
      jest.advanceTimersByTime(1.2 * SECOND);
      expect([due, keptOut([])]).toEqual([1, []]);
    });

    it('sees at most twice as many calls as there are slots, and then one a second', () => {
      const segment = held('acme one');
      let calls = 0;
      const inFlight: ReturnType<LaneQuotas['begin']>[] = [];
      const seconds = 60;
      for (let tick = 0; tick < seconds * 100; tick += 1) {
        while (inFlight.length < SLOTS && quotas.mayCall(segment)) {
          inFlight.push(quotas.begin(segment));
          calls += 1;
        }
        quotas.end(inFlight.shift() ?? quotas.begin(held('acme two')), FAILED);
        jest.advanceTimersByTime(10);
      }
      expect(calls).toBeLessThanOrEqual(2 * SLOTS + seconds);
      expect(calls).toBeGreaterThan(SLOTS);
    });
  });

  it('keeps the lines of an API key waiting of which calls only fail, and no other’s at the same quota', () => {
    const [mine, other] = [held('acme one', 100, 'mine'), held('acme one', 1, 'other')];
    fail(mine, SLOTS, CALLER_FAILED);
    expect([mine, other].map((segment) => quotas.mayCall(segment))).toEqual([false, true]);
    expect(quotas.keptOut([mine, other])).toEqual({ models: [], apiKeyHashes: ['mine'], segments: [] });
    expect(quotas.isShort([mine, other])).toBe(true);
    jest.advanceTimersByTime(1.2 * SECOND);
    expect(due).toBe(1);
    expect(quotas.keptOut([other]).apiKeyHashes).toEqual([]);
    call(mine, ANSWERED);
    expect(quotas.mayCall(mine)).toBe(true);
    expect(quotas.limitOf('acme one')).toBe(SLOTS);
  });
});
