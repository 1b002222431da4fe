import type { LoggerService } from '@nestjs/common';
import { EachAlone, PeriodicTask, type TaskRunner } from '@libs/platform';

const EVERY_MS = 30_000;
const MOST_ROUNDS = 40;

/** The result of handling some calls. */
export interface SweepRound {
  /** Fewer were found than a round handles. */
  readonly isOver: boolean;
  /** Ids that failed, of calls or of their organizations, with the error. */
  readonly failed: ReadonlyMap<string, unknown>;
}

/** Finishes, twice a minute in one gateway of all, what processes that died have left of their calls. */
export abstract class CallSweep {
  private readonly task: PeriodicTask;
  /** What fails rests, so that it does not stop the others. */
  private readonly each: EachAlone;

  constructor(
    name: string,
    protected readonly logger: LoggerService,
    runner: TaskRunner,
  ) {
    this.each = new EachAlone(name, logger);
    this.task = new PeriodicTask({ name, everyMs: EVERY_MS, runner }, () => this.pass());
  }

  start(): void {
    this.task.start();
  }

  stop(): Promise<void> {
    return this.task.stop();
  }

  /** Runs one pass. Never throws. */
  sweep(): Promise<void> {
    return this.task.runOnce();
  }

  private async pass(): Promise<void> {
    // What fails is left out of the whole pass: a round may take longer than a rest.
    const except = new Set(this.each.restingIds());
    for (let round = 1; round <= MOST_ROUNDS; round += 1) {
      const { isOver, failed } = await this.round([...except]);
      for (const [id, error] of failed) {
        this.each.failed(id, error);
        except.add(id);
      }
      if (isOver) return;
    }
  }

  /**
   * Handles the next calls.
   * @param exceptIds ids of calls and organizations to leave out
   * @throws if PostgreSQL handled none of them, for a reason that need not be these calls
   */
  protected abstract round(exceptIds: readonly string[]): Promise<SweepRound>;
}
