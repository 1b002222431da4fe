import { Module, type DynamicModule } from '@nestjs/common';
import { LastUses } from '@libs/persistence';
import { BlobStore, CredentialsClient, Egress, Feeds, MessageBus, openBlobStore } from '@libs/platform';
import type { VideoProviders } from '../create-video-providers';
import { VideoWorkerEnv } from '../video-worker.env';
import { StepTimes } from '../scaling/step-times';
import { VideoScalingService } from '../scaling/video-scaling.service';
import { OutputKeeper } from './output-keeper';
import { VideoCloserService } from './video-closer.service';
import { VideoEndpoints } from './video-endpoints';
import { VideoLaneService } from './video-lane.service';
import { VideoPollService } from './video-poll.service';
import { VideoSubmissionService } from './video-submission.service';
import { VideoSweeperService } from './video-sweeper.service';
import { VideosConsumer } from './videos.consumer';

/** Submits video jobs, polls them and stores their outputs. */
@Module({
  controllers: [VideosConsumer],
  providers: [
    VideoCloserService,
    VideoLaneService,
    VideoPollService,
    VideoScalingService,
    VideoSubmissionService,
    VideoSweeperService,
    StepTimes,
    { provide: BlobStore, inject: [VideoWorkerEnv], useFactory: openBlobStore },
    {
      provide: OutputKeeper,
      inject: [BlobStore, VideoWorkerEnv],
      useFactory: (blobs: BlobStore, env: VideoWorkerEnv) =>
        new OutputKeeper(blobs, new Egress({ allowCidrs: env.EGRESS_ALLOW_CIDRS ?? [] })),
    },
  ],
})
export class VideosModule {
  static with({ catalogue, adapters, shared }: VideoProviders): DynamicModule {
    return {
      module: VideosModule,
      providers: [
        {
          provide: VideoEndpoints,
          inject: [MessageBus, Feeds, VideoWorkerEnv, LastUses],
          useFactory: (bus: MessageBus, feeds: Feeds, { KEY_GRACE_SECONDS }: VideoWorkerEnv, uses: LastUses) =>
            new VideoEndpoints({
              catalogue: () => catalogue.current(),
              adapters,
              shared,
              vault: new CredentialsClient(bus, {
                feed: feeds.of('credentials'),
                graceMs: KEY_GRACE_SECONDS * 1_000,
                onUse: uses.note.bind(uses),
              }),
              onKeyUse: uses.note.bind(uses),
            }),
        },
      ],
    };
  }
}
