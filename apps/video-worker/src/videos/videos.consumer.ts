import { Controller } from '@nestjs/common';
import { AdvanceVideo } from '@libs/contracts';
import { Handles } from '@libs/platform';
import { VideoLaneService } from './video-lane.service';

@Controller()
export class VideosConsumer {
  constructor(private readonly lane: VideoLaneService) {}

  @Handles(AdvanceVideo)
  async advance(): Promise<void> {
    this.lane.wake();
  }
}
