import { Injectable } from '@nestjs/common';
import { GatewayEnv } from '../gateway.env';
import { RateLimiter } from '../limits/rate-limiter';
import { SubmissionLimits } from '../limits/submission-limits';

@Injectable()
export class VideoLimitsService extends SubmissionLimits {
  constructor(limiter: RateLimiter, env: GatewayEnv) {
    super(limiter, {
      noun: 'video',
      submissionsPerMinute: env.VIDEO_SUBMISSIONS_PER_MINUTE,
      readsPerMinute: env.VIDEO_READS_PER_MINUTE,
    });
  }
}
