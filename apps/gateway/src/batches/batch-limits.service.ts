import { Injectable } from '@nestjs/common';
import { GatewayEnv } from '../gateway.env';
import { RateLimiter } from '../limits/rate-limiter';
import { SubmissionLimits } from '../limits/submission-limits';

@Injectable()
export class BatchLimitsService extends SubmissionLimits {
  constructor(limiter: RateLimiter, env: GatewayEnv) {
    super(limiter, {
      noun: 'batch',
      submissionsPerMinute: env.BATCH_SUBMISSIONS_PER_MINUTE,
      readsPerMinute: env.BATCH_READS_PER_MINUTE,
    });
  }
}
