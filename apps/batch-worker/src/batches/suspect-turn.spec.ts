import { ALONE_FROM, CALLED_ALONE, type BatchSegmentsRepository, type ClaimedSegment } from '@libs/persistence';
import { HeldSegment } from './held-segment';
import { SuspectTurn, type SuspectLane } from './suspect-turn';

const LINES = [0, 1].map((seq) => ({ seq, customId: `c${seq}`, body: Buffer.alloc(1) }));

describe(SuspectTurn.name, () => {
  let waiting: ClaimedSegment[];
  let steps: string[];
  let isStored: boolean;
  let isCallable: boolean;
  let nextLookMs: number;
  let lineTakesMs: number;
  let failures: number;
  /** Whether the lease is still held when the call begins. */
  let begun: boolean | 'unknown';
  let turn: SuspectTurn;

  beforeEach(() => {
    jest.useFakeTimers();
    [waiting, steps, isStored, isCallable, lineTakesMs, failures, begun] = [[], [], true, true, 0, 0, true];
    const segments = {
      hasSuspects: async () => waiting.length > 0,
      claimSuspect: async () => waiting.pop() ?? null,
      beginAlone: async () => {
        if (begun === 'unknown') throw new Error('PostgreSQL is away');
        return begun;
      },
      absolve: async () => {
        failures -= 1;
        if (failures >= 0) throw new Error('PostgreSQL is away');
        steps.push('absolved');
      },
    };
    const lane: SuspectLane = {
      hold: async (claim) => new HeldSegment(claim, LINES, 'acme model'),
      mayCall: () => isCallable,
      runAlone: async ({ seq }) => {
        jest.advanceTimersByTime(lineTakesMs);
        steps.push(`line ${seq} while quiet: ${turn.wantsQuiet}`);
        return isStored;
      },
      giveBack: () => void steps.push('given back'),
      lookLater: (delayMs) => void (nextLookMs = delayMs),
    };
    turn = new SuspectTurn(segments as unknown as BatchSegmentsRepository, lane);
  });

  afterEach(() => jest.useRealTimers());

  const suspect = (attempts: number): ClaimedSegment => ({ attempts }) as ClaimedSegment;
  async function take(): Promise<void> {
    await turn.look();
    expect(turn.isWanted).toBe(true);
    await turn.take();
    expect([turn.wantsQuiet, turn.isWanted]).toEqual([false, false]);
  }

  it('keeps nothing waiting while there is no suspect, and looks every five seconds', async () => {
    await turn.look();
    expect(turn.wantsQuiet).toBe(false);
    waiting.push(suspect(ALONE_FROM));
    await turn.look();
    expect(turn.wantsQuiet).toBe(false);
    // The clock of the host may be set back meanwhile.
    jest.setSystemTime(Date.now() - 3_600_000);
    jest.advanceTimersByTime(5_000);
    await turn.look();
    expect(turn.wantsQuiet).toBe(true);
  });

  it('runs the first line of a suspect with nothing else', async () => {
    waiting.push(suspect(ALONE_FROM));
    await take();
    expect(steps).toEqual(['line 0 while quiet: true']);
  });

  it('lets others go on after half a minute in which a call did not end, and looks again a minute later', async () => {
    waiting.push(suspect(ALONE_FROM));
    await turn.look();
    jest.advanceTimersByTime(29_999);
    await turn.look();
    expect(turn.wantsQuiet).toBe(true);
    jest.advanceTimersByTime(1);
    await turn.look();
    expect([turn.wantsQuiet, nextLookMs]).toEqual([false, 60_000]);
    jest.advanceTimersByTime(60_000);
    await turn.look();
    expect(turn.isWanted).toBe(true);
  });

  it('leaves others as much time as a suspect took, and then looks for the next', async () => {
    waiting.push(suspect(ALONE_FROM), suspect(ALONE_FROM));
    lineTakesMs = 1_500;
    await take();
    expect(nextLookMs).toBe(1_500);
    jest.advanceTimersByTime(1_499);
    await turn.look();
    expect(turn.wantsQuiet).toBe(false);
    jest.advanceTimersByTime(1);
    await take();
    lineTakesMs = 60_000;
    waiting.push(suspect(ALONE_FROM));
    jest.advanceTimersByTime(1_500);
    await take();
    expect(nextLookMs).toBe(60_000);
  });

  it('absolves a line that failed and left its worker alive', async () => {
    isStored = false;
    waiting.push(suspect(ALONE_FROM));
    await take();
    expect(steps).toEqual(['line 0 while quiet: true', 'absolved']);
  });

  it('absolves a line as soon as PostgreSQL is back, so that its next lease does not give it up', async () => {
    isStored = false;
    failures = 3;
    waiting.push(suspect(ALONE_FROM));
    await turn.look();
    const taken = turn.take();
    await jest.advanceTimersByTimeAsync(5_000);
    await taken;
    expect(steps).toEqual(['line 0 while quiet: true', 'absolved']);
  });

  it.each([false, 'unknown'] as const)('calls no line before it is stored that it is called: %s', async (stored) => {
    begun = stored;
    waiting.push(suspect(ALONE_FROM));
    await turn.look();
    await turn.take().catch(() => undefined);
    expect(steps).toEqual(['given back']);
    expect(turn.wantsQuiet).toBe(false);
  });

  it('calls no line alone where the first was given up already', async () => {
    waiting.push(suspect(CALLED_ALONE));
    await take();
    expect(steps).toEqual([]);
  });

  it('gives a suspect back that cannot be called now, and looks again after a minute', async () => {
    isCallable = false;
    waiting.push(suspect(ALONE_FROM));
    await take();
    expect(steps).toEqual(['given back']);
    waiting.push(suspect(ALONE_FROM));
    jest.advanceTimersByTime(59_000);
    await turn.look();
    expect(turn.wantsQuiet).toBe(false);
    jest.advanceTimersByTime(1_000);
    await turn.look();
    expect(turn.wantsQuiet).toBe(true);
  });

  it('goes on where another worker was quicker', async () => {
    waiting.push(suspect(ALONE_FROM));
    await turn.look();
    waiting.pop();
    await turn.take();
    expect(turn.wantsQuiet).toBe(false);
  });
});
