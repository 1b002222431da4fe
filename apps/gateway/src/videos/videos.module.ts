import { Module } from '@nestjs/common';
import { BlobStore, openBlobStore } from '@libs/platform';
import { GatewayEnv } from '../gateway.env';
import { VideoContentsService } from './video-contents.service';
import { VideoLimitsService } from './video-limits.service';
import { VideosController } from './videos.controller';
import { VideosService } from './videos.service';
import { EgressModule } from '../egress.module';
import { LimitsModule } from '../limits/limits.module';
import { RelayModule } from '../relay.module';
import { RoutingModule } from '../routing/routing.module';
import { SubmissionsModule } from '../submissions/submissions.module';
import { WebhooksModule } from '../webhooks/webhooks.module';

@Module({
  imports: [EgressModule, LimitsModule, RelayModule, RoutingModule, SubmissionsModule, WebhooksModule],
  controllers: [VideosController],
  providers: [
    VideosService,
    VideoContentsService,
    VideoLimitsService,
    { provide: BlobStore, inject: [GatewayEnv], useFactory: openBlobStore },
  ],
})
export class VideosModule {}
