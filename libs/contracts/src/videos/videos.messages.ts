import { IsString, Length } from 'class-validator';
import { job } from '../messages/contract';
import { JobPayload } from '../messages/job-payload';
import { queues } from '../messages/queues';

export class AdvanceVideoPayload extends JobPayload {
  @IsString()
  @Length(1, 100)
  videoId: string;
}

/** There is a video job to submit: look for due jobs now instead of a moment later. */
export const AdvanceVideo = job({ queue: queues.videos, name: 'videos.advance-video', payload: AdvanceVideoPayload });
