import { AppError } from '@libs/errors';
import { gauge } from '../telemetry/metrics';
import type { HealthRoutes } from './health-routes';
import { PeriodicTask } from './periodic-task';

/** How many processes of this app the open work needs. */
export interface WorkersWanted {
  readonly workers: number;
  /** The counts from which the number is derived, for operators. */
  readonly because: Readonly<Record<string, number>>;
}

/** The path for autoscalers, on the health port. */
const PATH = '/scaling';
const EVERY_MS = 10_000;
/** Older counts are not reported, because the work may have changed. */
const GOOD_FOR_MS = 60_000;

const wanted = gauge({
  name: 'sluice_workers_wanted',
  help: 'Processes of this app that the open work needs; all of its processes show the same number',
});

/**
 * Counts the open work in PostgreSQL every few seconds and reports how many workers it needs, as the metric
 * `sluice_workers_wanted` and at `GET /scaling`. Requests to `/scaling` do not reach PostgreSQL.
 */
export abstract class WorkerForecast {
  private readonly task: PeriodicTask;
  private latest: { readonly wanted: WorkersWanted; readonly atMs: number } | null = null;

  constructor(
    routes: HealthRoutes,
    private readonly nowMs: () => number = () => performance.now(),
  ) {
    this.task = new PeriodicTask({ name: 'scaling', everyMs: EVERY_MS, isImmediate: true }, () => this.update());
    routes.add(PATH, () => this.answer());
  }

  /** Counts the open work, and derives the number of workers from it. */
  protected abstract count(): Promise<WorkersWanted>;

  start(): void {
    this.task.start();
  }

  async stop(): Promise<void> {
    await this.task.stop();
  }

  /** Counts once, now. Never throws. */
  async refresh(): Promise<void> {
    await this.task.runOnce();
  }

  private async update(): Promise<void> {
    try {
      this.latest = { wanted: await this.count(), atMs: this.nowMs() };
      wanted.set(this.latest.wanted.workers);
    } finally {
      // Otherwise a scaler that reads the metric would continue to use an outdated number.
      if (this.isUnknown()) wanted.remove();
    }
  }

  private isUnknown(): boolean {
    return this.latest === null || this.nowMs() - this.latest.atMs > GOOD_FOR_MS;
  }

  private answer(): object {
    if (this.latest === null || this.isUnknown()) {
      throw new AppError('unavailable', 'The open work has not been counted within the last minute');
    }
    const { workers, because } = this.latest.wanted;
    return { workers_wanted: workers, ...because };
  }
}
