import { Injectable } from '@nestjs/common';
import { VideoDemandRepository } from '@libs/persistence';
import { HealthRoutes, WorkerForecast, type WorkersWanted } from '@libs/platform';
import { VideoWorkerEnv } from '../video-worker.env';
import { DELIVERIES_AT_ONCE, DELIVERIES_PER_HOST, DELIVERIES_PER_ORGANIZATION } from '../webhooks/delivery-bounds';
import { StepTimes } from './step-times';
import { videoWorkersWanted } from './video-workers-wanted';

/** Counts the due steps of videos and webhooks, and derives the number of video workers from them. */
@Injectable()
export class VideoScalingService extends WorkerForecast {
  constructor(
    private readonly env: VideoWorkerEnv,
    private readonly demand: VideoDemandRepository,
    private readonly times: StepTimes,
    routes: HealthRoutes,
  ) {
    super(routes);
  }

  protected async count(): Promise<WorkersWanted> {
    const demand = await this.demand.open(DELIVERIES_PER_HOST, DELIVERIES_PER_ORGANIZATION);
    const places = { steps: this.env.VIDEO_CONCURRENCY, deliveries: DELIVERIES_AT_ONCE };
    const { stepsUnderWay, submissionsDue, pollsDue, deliveries } = demand;
    return {
      workers: videoWorkersWanted(demand, places, (kind) => this.times.secondsOf(kind)),
      because: { steps_under_way: stepsUnderWay, submissions_due: submissionsDue, polls_due: pollsDue, deliveries },
    };
  }
}
