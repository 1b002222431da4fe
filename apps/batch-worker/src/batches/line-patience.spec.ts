import { AppError } from '@libs/errors';
import type { ClaimedSegment } from '@libs/persistence';
import { HeldSegment, type HeldLine } from './held-segment';
import {
  backoffMs,
  failureOf,
  isGivenUp,
  MOST_TRIES,
  unasked,
  WINDOW_MARGIN_MS,
  type LineFailure,
} from './line-patience';
import { QuotaNews } from './quota-news';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const ERROR = new AppError('provider_unavailable', 'not there');
const UNREACHABLE: LineFailure = {
  ...unasked(ERROR, 'quota'),
  mayBeLines: true,
};
const STATUS_500: LineFailure = { ...UNREACHABLE, isAnswer: true };
const NOT_ITS_OWN: LineFailure = { ...UNREACHABLE, mayBeLines: false };

/** Park and Miller's generator, so that a failure repeats. */
function dieOf(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

describe(isGivenUp.name, () => {
  let nowMs: number;
  let news: QuotaNews;

  beforeEach(() => {
    nowMs = HOUR;
    news = new QuotaNews();
  });

  function lines(count: number, leftMs = 24 * HOUR): HeldLine[] {
    const claim = { attempts: 1, batchNumber: 1n, windowEndsAtMs: nowMs + leftMs } as ClaimedSegment;
    const body = Buffer.alloc(1);
    const all = Array.from({ length: count }, (_, seq) => ({ seq, customId: `c${seq}`, body }));
    const segment = new HeldSegment(claim, all, 'acme model');
    return all.map(() => segment.next()!);
  }

  /** One try of a line that fails after a second. Returns whether the line ends. */
  function tryOnce(line: HeldLine, failure: LineFailure, afterMs = SECOND): boolean {
    nowMs += afterMs;
    line.tries += 1;
    line.firstTryMs ??= nowMs;
    if (line.tries === 1) line.comparedFromMs = nowMs;
    nowMs += SECOND;
    const ends = isGivenUp(line, failure, news, nowMs);
    line.comparedFromMs = nowMs;
    if (failure.quota === 'failed') news.failed(line);
    return ends;
  }

  const answer = (line: HeldLine): void => news.answered(line, (nowMs += 1));

  it('ends a line at the eighth failure between answers to other lines', () => {
    const [bad, good] = lines(2);
    const ends = Array.from({ length: MOST_TRIES + 1 }, () => {
      const ended = tryOnce(bad!, STATUS_500);
      answer(good!);
      return ended;
    });
    // In its first try no other line was answered.
    expect(ends).toEqual([...Array<boolean>(MOST_TRIES).fill(false), true]);
  });

  it('ends no line while the whole quota fails, however often it is tried', () => {
    const all = lines(3);
    answer(all[2]!);
    for (let round = 0; round < 1_000; round += 1) {
      expect([tryOnce(all[0]!, STATUS_500, MINUTE), tryOnce(all[1]!, UNREACHABLE)]).toEqual([false, false]);
    }
  });

  it('counts an outage once for a line, however long it lasts', () => {
    const [line, other] = lines(2);
    for (let outage = 0; outage < MOST_TRIES - 1; outage += 1) {
      for (let tries = 0; tries < 20; tries += 1) expect(tryOnce(line!, UNREACHABLE)).toBe(false);
      answer(other!);
    }
    expect(line!.counted).toBeLessThan(MOST_TRIES);
  });

  it('ends the last line of a quota only after half an hour of status 500, and never where it cannot be reached', () => {
    for (const [failure, ends] of [
      [STATUS_500, true],
      [UNREACHABLE, false],
    ] as const) {
      const [last, other] = lines(2);
      tryOnce(last!, failure);
      answer(other!);
      const startMs = nowMs;
      let endedAfterMs: number | null = null;
      while (endedAfterMs === null && nowMs < startMs + 10 * HOUR) {
        if (tryOnce(last!, failure, 30 * SECOND)) endedAfterMs = nowMs - startMs;
      }
      expect(endedAfterMs !== null).toBe(ends);
      if (endedAfterMs !== null) expect(endedAfterMs).toBeGreaterThan(30 * MINUTE);
    }
  });

  it('ends the last lines of a quota although there are several that it cannot cope with', () => {
    const [one, two, good] = lines(3);
    // Each was tried between answers to others.
    for (const bad of [one!, two!]) {
      tryOnce(bad, STATUS_500);
      answer(good!);
      tryOnce(bad, STATUS_500);
      answer(good!);
    }
    let rounds = 0;
    while (!tryOnce(one!, STATUS_500, MINUTE)) {
      tryOnce(two!, STATUS_500);
      rounds += 1;
      expect(rounds).toBeLessThan(60);
    }
    expect(rounds).toBeGreaterThan(20);
  });

  it('ends no line for what is no fault of a line, whatever is answered meanwhile', () => {
    const [line, good] = lines(2);
    for (let tries = 0; tries < 1_000; tries += 1) {
      answer(good!);
      expect(tryOnce(line!, NOT_ITS_OWN, MINUTE)).toBe(false);
    }
  });

  it.each([0.3, 0.5, 0.7])(
    'ends no line of a provider of whose answers %d are errors, whichever lines they meet',
    (share) => {
      const dice = dieOf(7);
      let given = 0;
      // 5,000 lines, 100 at once; each waits for its next try.
      const waiting = lines(5_000).map((line, at) => ({ line, atMs: at * 10 }));
      while (waiting.length > 0) {
        waiting.sort((one, other) => one.atMs - other.atMs);
        for (const { line, atMs } of waiting.splice(0, 100)) {
          nowMs = Math.max(nowMs, atMs);
          line.tries += 1;
          line.firstTryMs ??= nowMs;
          if (line.tries === 1) line.comparedFromMs = nowMs;
          nowMs += 10;
          if (dice() >= share) answer(line);
          else if (isGivenUp(line, STATUS_500, news, nowMs)) given += 1;
          else {
            line.comparedFromMs = nowMs;
            news.failed(line);
            waiting.push({ line, atMs: nowMs + backoffMs(line.tries, dice()) });
          }
        }
      }
      expect(given).toBe(0);
    },
  );

  it('ends a line with what failed once its window is nearly over', () => {
    expect(tryOnce(lines(1, WINDOW_MARGIN_MS + MINUTE)[0]!, UNREACHABLE)).toBe(false);
    expect(tryOnce(lines(1, WINDOW_MARGIN_MS)[0]!, UNREACHABLE)).toBe(true);
  });

  it.each([25 * HOUR, -25 * HOUR])(
    'goes by the time that is left of the window where its host’s clock is %d ms off',
    (offMs) => {
      const [early, late] = [lines(1, WINDOW_MARGIN_MS + MINUTE)[0]!, lines(1, WINDOW_MARGIN_MS)[0]!];
      const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + offMs);
      expect([tryOnce(early, UNREACHABLE), tryOnce(late, UNREACHABLE)]).toEqual([false, true]);
      clock.mockRestore();
    },
  );
});

describe(failureOf.name, () => {
  it('takes an app that is away for no fault of a line or of a quota, though a call was tried', () => {
    const claim = { isOwnKey: true } as ClaimedSegment;
    const line = { segment: new HeldSegment(claim, [], 'acme model') } as HeldLine;
    const away = new AppError('unavailable', 'The service is temporarily unavailable', { retryAfterSeconds: 1 });
    expect(failureOf(line, away)).toMatchObject({ quota: 'none', caller: 'failed', mayBeLines: false, pauseMs: null });
  });
});

describe(backoffMs.name, () => {
  it('doubles from half a second up to five', () => {
    expect([1, 2, 3, 4, 5, 100].map((tries) => backoffMs(tries, 1))).toEqual([500, 1_000, 2_000, 4_000, 5_000, 5_000]);
    expect(backoffMs(5, 0.5)).toBe(2_500);
  });
});
