import type { LoggerService } from '@nestjs/common';

/** Finishes some work before the app stops. The signal aborts when the time of the step is over. */
export type DrainStep = (signal: AbortSignal) => Promise<void>;

interface NamedStep {
  readonly name: string;
  readonly step: DrainStep;
}

/** Steps that run side by side. */
interface Stage {
  readonly steps: NamedStep[];
  /** Time that earlier stages must leave to it, in milliseconds. */
  readonly leastMs: number;
}

const LEAST_MS = 1_000;

/**
 * What an app finishes between SIGTERM and its end, in the order of registration: first stop accepting work, then await
 * running work, then flush what it wrote.
 */
export class DrainSteps {
  private readonly stages: Stage[] = [];

  /** @param leastMs time that earlier steps cannot use up */
  add(name: string, step: DrainStep, leastMs = LEAST_MS): void {
    this.stages.push({ steps: [{ name, step }], leastMs });
  }

  /** Adds a step that runs at the same time as the last added one. */
  addBeside(name: string, step: DrainStep): void {
    const last = this.stages.at(-1);
    if (last === undefined) this.add(name, step);
    else last.steps.push({ name, step });
  }

  /**
   * Runs the steps within the time. A step that fails does not keep the next from running. A step that takes long is
   * aborted when only the minimum time of later steps is left. Aborted work is handled by leases and redelivery.
   * @returns whether no step failed; running out of time is not a failure
   */
  async run(timeoutMs: number, logger: LoggerService): Promise<boolean> {
    const endMs = performance.now() + timeoutMs;
    const reserved = this.stages.reduce((sum, { leastMs }) => sum + leastMs, 0);
    // If the time is shorter than all minimum times together, each is reduced by the same factor.
    const scale = Math.min(1, timeoutMs / reserved);
    let laterMs = reserved;
    let clean = true;
    for (const { steps, leastMs } of this.stages) {
      laterMs -= leastMs;
      const leftMs = endMs - laterMs * scale - performance.now();
      const deadline = AbortSignal.timeout(Math.max(1, Math.floor(leftMs)));
      const outcomes = await Promise.all(steps.map((step) => runStep(step, deadline, logger)));
      clean &&= !outcomes.includes('failed');
    }
    return clean;
  }
}

async function runStep(
  { name, step }: NamedStep,
  deadline: AbortSignal,
  logger: LoggerService,
): Promise<'done' | 'over' | 'failed'> {
  try {
    const outcome = await Promise.race([Promise.resolve(step(deadline)).then(() => 'done' as const), isOver(deadline)]);
    if (outcome === 'over') logger.warn('Drain step cut: its time is over', { step: name });
    return outcome;
  } catch (error) {
    logger.error('Drain step failed', { step: name, err: error });
    return 'failed';
  }
}

/** A step may end because of the signal itself, so it gets a moment to do so. */
function isOver(signal: AbortSignal): Promise<'over'> {
  return new Promise((resolve) =>
    signal.addEventListener('abort', () => setImmediate(() => resolve('over')), { once: true }),
  );
}
