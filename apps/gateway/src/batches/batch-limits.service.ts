import { Injectable } from '@nestjs/common';
import { GatewayEnv } from '../gateway.env';
import { RateLimiter, rateLimitError, type RateLimit } from '../limits/rate-limiter';

const READ_BURST = 100;

/** Limits of the batch endpoints, per workspace (interface §5.6). */
@Injectable()
export class BatchLimitsService {
  private readonly submissions: RateLimit;
  private readonly reads: RateLimit;

  constructor(
    private readonly limiter: RateLimiter,
    env: GatewayEnv,
  ) {
    const submissions = env.BATCH_SUBMISSIONS_PER_MINUTE;
    this.submissions = { name: 'batch-submissions', perMinute: submissions, burst: submissions };
    this.reads = { name: 'batch-reads', perMinute: env.BATCH_READS_PER_MINUTE, burst: READ_BURST };
  }

  /**
   * Counts a submission for as long as `submit` does not refuse it: what was refused is given back, so a
   * caller who corrects a mistake is not kept waiting for it.
   *
   * @throws AppError rate_limit_exceeded
   */
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
