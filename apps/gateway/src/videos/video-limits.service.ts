import { Injectable } from '@nestjs/common';
import { GatewayEnv } from '../gateway.env';
import { RateLimiter, rateLimitError, type RateLimit } from '../limits/rate-limiter';

const READ_BURST = 100;

/** Limits of the video endpoints, per workspace (interface §7). */
@Injectable()
export class VideoLimitsService {
  private readonly submissions: RateLimit;
  private readonly reads: RateLimit;

  constructor(
    private readonly limiter: RateLimiter,
    env: GatewayEnv,
  ) {
    const submissions = env.VIDEO_SUBMISSIONS_PER_MINUTE;
    this.submissions = { name: 'video-submissions', perMinute: submissions, burst: submissions };
    this.reads = { name: 'video-reads', perMinute: env.VIDEO_READS_PER_MINUTE, burst: READ_BURST };
  }

  /** What is refused for another reason is given back. @throws AppError rate_limit_exceeded */
  async submission<T>(workspaceId: string, submit: () => Promise<T>): Promise<T> {
    await this.take(this.submissions, workspaceId);
    try {
      return await submit();
    } catch (error) {
      await this.limiter.giveBack(this.submissions, workspaceId);
      throw error;
    }
  }

  /** @throws AppError rate_limit_exceeded */
  read(workspaceId: string): Promise<void> {
    return this.take(this.reads, workspaceId);
  }

  private async take(limit: RateLimit, workspaceId: string): Promise<void> {
    const verdict = await this.limiter.take(limit, workspaceId);
    if (!verdict.allowed) throw rateLimitError(verdict);
  }
}
