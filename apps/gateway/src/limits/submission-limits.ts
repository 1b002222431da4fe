import { AppError } from '@libs/errors';
import { RateLimiter, rateLimitError, type RateLimit } from './rate-limiter';

const READ_BURST = 100;

export interface SubmissionLimitsOptions {
  /** The noun for what is submitted; used in names of limits. */
  readonly noun: string;
  readonly submissionsPerMinute: number;
  readonly readsPerMinute: number;
}

/** Limits, per workspace, of endpoints that accept long work and report on it later. */
export class SubmissionLimits {
  private readonly submissions: RateLimit;
  private readonly reads: RateLimit;

  constructor(
    private readonly limiter: RateLimiter,
    { noun, submissionsPerMinute, readsPerMinute }: SubmissionLimitsOptions,
  ) {
    this.submissions = {
      name: `${noun}-submissions`,
      perMinute: submissionsPerMinute,
      burst: submissionsPerMinute,
    };
    this.reads = { name: `${noun}-reads`, perMinute: readsPerMinute, burst: READ_BURST };
  }

  /**
   * Counts a submission unless `submit` refuses it, so that a caller can correct a mistake at once. A submission that
   * is refused with `payment_required` counts: its whole body was stored first.
   *
   * @throws AppError rate_limit_exceeded
   */
  async submission<T>(workspaceId: string, submit: () => Promise<T>): Promise<T> {
    await this.take(this.submissions, workspaceId);
    try {
      return await submit();
    } catch (error) {
      const isUnpaid = AppError.from(error).code === 'payment_required';
      if (!isUnpaid) await this.limiter.giveBack(this.submissions, workspaceId);
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
