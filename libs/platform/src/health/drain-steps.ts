import type { LoggerService } from '@nestjs/common';

/** Something to bring to its end before the app stops. The signal fires when the time for draining is over. */
export type DrainStep = (signal: AbortSignal) => Promise<void>;

interface NamedStep {
  readonly name: string;
  readonly step: DrainStep;
}

/**
 * What an app finishes between being told to stop and stopping, in the order of registration: first stop
 * taking work in, then await what is in flight, then flush what it wrote.
 */
export class DrainSteps {
  private readonly steps: NamedStep[] = [];

  add(name: string, step: DrainStep): void {
    this.steps.push({ name, step });
  }

  /**
   * Runs the steps one after the other within the time. A step that fails does not keep the next from
   * running; when the time is over the rest is left to leases and redelivery.
   *
   * @returns whether no step failed; running out of time is no failure
   */
  async run(timeoutMs: number, logger: LoggerService): Promise<boolean> {
    const deadline = AbortSignal.timeout(timeoutMs);
    const isOver = whenAborted(deadline);
    let clean = true;
    for (const { name, step } of this.steps) {
      if (deadline.aborted) {
        logger.warn('Drain step left out: the time is over', { step: name });
        continue;
      }
      try {
        const outcome = await Promise.race([Promise.resolve(step(deadline)).then(() => 'done' as const), isOver]);
        if (outcome === 'over') logger.warn('Drain step cut: the time is over', { step: name });
      } catch (error) {
        clean = false;
        logger.error('Drain step failed', { step: name, err: error });
      }
    }
    return clean;
  }
}

function whenAborted(signal: AbortSignal): Promise<'over'> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve('over'), { once: true }));
}
