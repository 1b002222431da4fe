import { Injectable } from '@nestjs/common';
import { toVideoEventData } from '@libs/inference';
import { VideoEndsRepository, WebhookDeliveriesRepository, type VideoEnd, type VideoJob } from '@libs/persistence';
import { counter } from '@libs/platform';
import { VideoWorkerEnv } from '../video-worker.env';

const ended = counter({
  name: 'sluice_videos_ended_total',
  help: 'Video jobs that came to their end, by how',
  labelNames: ['status'],
});

/** Ends jobs: once each, with the charge and the webhook event in the same commit. */
@Injectable()
export class VideoCloserService {
  constructor(
    private readonly ends: VideoEndsRepository,
    private readonly webhooks: WebhookDeliveriesRepository,
    private readonly env: VideoWorkerEnv,
  ) {}

  async finish(job: VideoJob, ending: VideoEnd): Promise<void> {
    const { callbackUrl: url, organizationId, workspaceId } = job;
    const isFirst = await this.ends.finish(job, ending, async (session, end) => {
      if (url === null) return;
      await this.webhooks.enqueue(session, {
        id: `${job.id}-${end.status}`,
        organizationId,
        workspaceId,
        url,
        type: `video.generation.${end.status}`,
        payload: toVideoEventData(job, end, this.env.PUBLIC_URL.replace(/\/+$/, '')),
      });
    });
    if (isFirst) ended.inc({ status: ending.status });
  }

  fail(job: VideoJob, errorMessage: string): Promise<void> {
    return this.finish(job, { status: 'failed', errorMessage });
  }

  expire(job: VideoJob): Promise<void> {
    return this.finish(job, { status: 'expired', errorMessage: 'The provider took too long' });
  }
}
