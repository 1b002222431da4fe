import type { GatewayEnv } from '../gateway.env';
import { RateLimiter, rateLimitError, type RateDemand, type RateLimit } from './rate-limiter';
import { perMinute } from './rate-limits';

/**
 * Most tokens that are expected of an answer, however high its cap: answers rarely reach it, and the real number is
 * counted afterwards.
 */
const MOST_EXPECTED_ANSWER_TOKENS = 1_024;

/** The usage that a call is expected to have, before a provider is called. */
export interface ExpectedTokens {
  readonly promptTokens: number;
  /** The caller's cap on one answer, or null. */
  readonly maxTokens: number | null;
  /** Number of generated answers; 0 if none. */
  readonly answers: number;
}

/** The decision about one call. */
export interface Admission {
  /** Settles in the background. @throws AppError rate_limit_exceeded */
  readonly decided: Promise<void>;
  /** Ends the call: counts its real usage instead of the expected one. Must be called once. */
  used(tokens: number): void;
}

/**
 * Limits of inference requests and tokens per workspace, decided together. Both are off unless the operator sets them,
 * and a limit that is off costs nothing.
 */
export class InferenceLimits {
  private readonly requests: RateLimit | null;
  private readonly tokens: RateLimit | null;

  constructor(
    private readonly limiter: RateLimiter,
    env: Pick<GatewayEnv, 'INFERENCE_REQUESTS_PER_MINUTE' | 'INFERENCE_TOKENS_PER_MINUTE'>,
  ) {
    this.requests = perMinute('inference-requests', env.INFERENCE_REQUESTS_PER_MINUTE);
    this.tokens = perMinute('inference-tokens', env.INFERENCE_TOKENS_PER_MINUTE);
  }

  /** Counts the call against the limits of its workspace; returns null if no limit applies. */
  admit(workspaceId: string, expected: ExpectedTokens): Admission | null {
    if (this.requests === null && this.tokens === null) return null;
    const demands: RateDemand[] = [];
    if (this.requests !== null) demands.push({ limit: this.requests, count: 1 });
    if (this.tokens === null) return { decided: this.decide(demands, workspaceId), used: () => undefined };
    const limit = this.tokens;
    const count = Math.min(limit.burst, expectedTokens(expected));
    demands.push({ limit, count });
    const decided = this.decide(demands, workspaceId);
    return { decided, used: (tokens) => this.correct(limit, workspaceId, decided, tokens - count) };
  }

  private decide(demands: readonly RateDemand[], workspaceId: string): Promise<void> {
    const decided = this.limiter.takeAll(demands, workspaceId).then((verdict) => {
      if (!verdict.allowed) throw rateLimitError(verdict);
    });
    // Code that awaits the promise gets the error. If the call fails earlier for another reason, no code does.
    decided.catch(() => undefined);
    return decided;
  }

  private correct(limit: RateLimit, workspaceId: string, decided: Promise<void>, count: number): void {
    if (count === 0) return;
    // A refused call took nothing, so there is nothing to correct.
    void decided.then(
      () => this.limiter.adjust(limit, workspaceId, count),
      () => undefined,
    );
  }
}

function expectedTokens({ promptTokens, maxTokens, answers }: ExpectedTokens): number {
  const perAnswer = Math.min(maxTokens ?? MOST_EXPECTED_ANSWER_TOKENS, MOST_EXPECTED_ANSWER_TOKENS);
  return promptTokens + perAnswer * answers;
}
