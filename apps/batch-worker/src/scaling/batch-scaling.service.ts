import { Injectable } from '@nestjs/common';
import { CatalogueSource, quotaGroupsOf } from '@libs/inference';
import { BatchDemandRepository, BatchWorkersRepository } from '@libs/persistence';
import { HealthRoutes, WorkerForecast, type WorkersWanted } from '@libs/platform';
import { BatchWorkerEnv } from '../batch-worker.env';
import { plannedFor, workersWanted, type QuotaDemand } from './workers-wanted';

/** Counts the open lines of all batches, and derives the number of batch workers from them. */
@Injectable()
export class BatchScalingService extends WorkerForecast {
  constructor(
    private readonly env: BatchWorkerEnv,
    private readonly demand: BatchDemandRepository,
    private readonly workers: BatchWorkersRepository,
    private readonly catalogue: CatalogueSource,
    routes: HealthRoutes,
  ) {
    super(routes);
  }

  protected async count(): Promise<WorkersWanted> {
    const models = await this.demand.open(plannedFor(this.env.BATCH_GOAL_MINUTES * 60));
    const groups = quotaGroupsOf(this.catalogue.current());
    const demands: readonly QuotaDemand[] = models.map(({ lines, linesPerSecond, ...called }) => ({
      quota: groups.quotaOf(called),
      lines,
      linesPerSecond,
    }));
    const reports = await this.workers.reports([...new Set(demands.map(({ quota }) => quota))]);
    const { workers, calls } = workersWanted(demands, reports, this.env.BATCH_CONCURRENCY);
    const openLines = models.reduce((sum, { lines }) => sum + lines, 0);
    return { workers, because: { open_lines: openLines, calls_wanted: calls } };
  }
}
