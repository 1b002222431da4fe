import { Module } from '@nestjs/common';
import { BlobStore, Egress, openBlobStore } from '@libs/platform';
import { GatewayEnv } from '../gateway.env';
import { VideoContentsService } from './video-contents.service';
import { VideoLimitsService } from './video-limits.service';
import { VideosController } from './videos.controller';
import { VideosService } from './videos.service';

/** What else it needs is global: persistence, the outbox relay, rate limits, and what can be routed to. */
@Module({
  controllers: [VideosController],
  providers: [
    VideosService,
    VideoContentsService,
    VideoLimitsService,
    { provide: BlobStore, inject: [GatewayEnv], useFactory: openBlobStore },
    {
      provide: Egress,
      inject: [GatewayEnv],
      useFactory: (env: GatewayEnv) => new Egress({ allowCidrs: env.EGRESS_ALLOW_CIDRS ?? [] }),
    },
  ],
})
export class VideosModule {}
