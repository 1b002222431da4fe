/** The arrival of one batch, in seconds from the start of the trace. */
export interface Arrival {
  readonly atSeconds: number;
  readonly lines: number;
  readonly quota: string;
}

/** A provider of the replay. */
export interface ReplayedProvider {
  /** How long a line takes. */
  readonly callSeconds: number;
  /** Calls that it takes at once at a moment; 0 while it is down. */
  readonly takesAt: (second: number) => number;
}

export interface Trace {
  readonly arrivals: readonly Arrival[];
  readonly providers: Readonly<Record<string, ReplayedProvider>>;
  readonly seconds: number;
}

const HOUR = 3_600;
const DAY = 24 * HOUR;
const alwaysUp = (): number => Infinity;

/** The same numbers at every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Batches of very different sizes (a median of 3,000 lines, a tenth above 30,000), most of them by day. */
function daysAndNights(days: number, perDay: number, quotas: readonly string[]): Arrival[] {
  const dice = seeded(7);
  const arrivals: Arrival[] = [];
  for (let atSeconds = 0; atSeconds < days * DAY;) {
    const byDay = 1 - 0.9 * Math.cos((2 * Math.PI * atSeconds) / DAY);
    atSeconds += (-Math.log(1 - dice()) * DAY) / (perDay * byDay);
    const normal = Math.sqrt(-2 * Math.log(1 - dice())) * Math.cos(2 * Math.PI * dice());
    const lines = Math.max(1, Math.min(500_000, Math.round(3_000 * Math.exp(1.8 * normal))));
    arrivals.push({ atSeconds, lines, quota: quotas[Math.floor(dice() * quotas.length)]! });
  }
  return arrivals;
}

export const TRACES: Readonly<Record<string, Trace>> = {
  burst: {
    arrivals: [{ atSeconds: HOUR, lines: 500_000, quota: 'new' }],
    providers: { new: { callSeconds: 6, takesAt: alwaysUp } },
    seconds: DAY,
  },
  'days-and-nights': {
    arrivals: daysAndNights(3, 250, ['fast', 'slow']),
    providers: { fast: { callSeconds: 3, takesAt: alwaysUp }, slow: { callSeconds: 20, takesAt: alwaysUp } },
    seconds: 3 * DAY + 2 * HOUR,
  },
  outage: {
    arrivals: daysAndNights(3, 250, ['steady', 'failing']),
    providers: {
      steady: { callSeconds: 6, takesAt: alwaysUp },
      failing: {
        callSeconds: 6,
        takesAt: (second) => (second > 1.4 * DAY && second < 1.4 * DAY + 3 * HOUR ? 0 : Infinity),
      },
    },
    seconds: 3 * DAY + 2 * HOUR,
  },
  'a-provider-that-takes-few': {
    arrivals: daysAndNights(3, 200, ['narrow', 'wide']),
    providers: { narrow: { callSeconds: 6, takesAt: () => 150 }, wide: { callSeconds: 6, takesAt: alwaysUp } },
    seconds: 3 * DAY + 8 * HOUR,
  },
  'a-provider-that-takes-what-two-workers-make': {
    arrivals: [{ atSeconds: HOUR, lines: 500_000, quota: 'narrow' }],
    providers: { narrow: { callSeconds: 6, takesAt: () => 128 } },
    seconds: 20 * HOUR,
  },
};
