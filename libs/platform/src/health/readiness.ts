/** Whether a thing that the app needs is there. Throwing, `false` and taking too long all mean no. */
export type ReadinessCheck = () => Promise<boolean> | boolean;

/** `starting` and `draining` are never ready; `serving` is ready while every check passes. */
export type ReadinessPhase = 'starting' | 'serving' | 'draining';

export interface ReadinessReport {
  readonly ready: boolean;
  readonly phase: ReadinessPhase;
  /** By the name of the check; `timeout` if it did not finish in time. */
  readonly checks: Readonly<Record<string, CheckState>>;
}

export type CheckState = 'up' | 'down' | 'timeout';

export interface ReadinessOptions {
  readonly phase?: ReadinessPhase;
  readonly checkTimeoutMs?: number;
  readonly cacheMs?: number;
}

const CHECK_TIMEOUT_MS = 1_000;
const CACHE_MS = 1_000;
const TIMEOUT_STEPS = 20;

/**
 * Reports whether traffic may be sent to this process. However often it is called, each check runs at most once per
 * `cacheMs` and never twice at the same time: a check that hangs is one pending promise, not a growing number.
 */
export class Readiness {
  private readonly checks = new Map<string, CachedCheck>();
  private readonly checkTimeoutMs: number;
  private readonly cacheMs: number;
  private currentPhase: ReadinessPhase;

  constructor({ phase = 'serving', checkTimeoutMs = CHECK_TIMEOUT_MS, cacheMs = CACHE_MS }: ReadinessOptions = {}) {
    this.currentPhase = phase;
    this.checkTimeoutMs = checkTimeoutMs;
    this.cacheMs = cacheMs;
  }

  get phase(): ReadinessPhase {
    return this.currentPhase;
  }

  /** Adds a check. Its name is public: `postgresql`, never a URL. */
  addCheck(name: string, check: ReadinessCheck): void {
    if (this.checks.has(name)) throw new Error(`A readiness check named ${name} is already there`);
    this.checks.set(name, new CachedCheck(check, this.checkTimeoutMs, this.cacheMs));
  }

  /** Marks the app as started. Has no effect while it is draining. */
  serve(): void {
    if (this.currentPhase === 'starting') this.currentPhase = 'serving';
  }

  /** Makes the app not ready from now on, whatever the checks report. */
  drain(): void {
    this.currentPhase = 'draining';
  }

  async report(): Promise<ReadinessReport> {
    const states = await Promise.all(
      [...this.checks].map(async ([name, check]): Promise<[string, CheckState]> => [name, await check.state()]),
    );
    return {
      ready: this.currentPhase === 'serving' && states.every(([, state]) => state === 'up'),
      phase: this.currentPhase,
      checks: Object.fromEntries(states),
    };
  }
}

class CachedCheck {
  private running: Promise<'up' | 'down'> | null = null;
  private answer: Promise<CheckState> | null = null;
  private answeredAtMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly check: ReadinessCheck,
    private readonly timeoutMs: number,
    private readonly cacheMs: number,
  ) {}

  state(): Promise<CheckState> {
    if (this.answer === null || performance.now() - this.answeredAtMs >= this.cacheMs) {
      this.answeredAtMs = Number.POSITIVE_INFINITY;
      this.answer = this.ask().finally(() => {
        this.answeredAtMs = performance.now();
      });
    }
    return this.answer;
  }

  private ask(): Promise<CheckState> {
    this.running ??= this.run().finally(() => {
      this.running = null;
    });
    return within(this.running, this.timeoutMs);
  }

  private async run(): Promise<'up' | 'down'> {
    try {
      return (await this.check()) === true ? 'up' : 'down';
    } catch {
      // The owner of the connection logs the reason; here only the state is needed.
      return 'down';
    }
  }
}

/**
 * Times out after several short timers, each at least one turn of the event loop. One long timer would end before an
 * answer is read that is already in its socket, if a busy process takes longer than `timeoutMs` for a turn.
 */
async function within(answer: Promise<CheckState>, timeoutMs: number): Promise<CheckState> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<CheckState>((resolve) => {
    let left = TIMEOUT_STEPS;
    const step = (): void => {
      left -= 1;
      if (left < 0) resolve('timeout');
      else timer = setTimeout(step, timeoutMs / TIMEOUT_STEPS);
    };
    step();
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
