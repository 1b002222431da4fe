import { InferenceLimits } from './inference-limits';
import { LocalRateLimiter } from './testing/local-rate-limiter';

const WORKSPACE = 'workspace';
const small = { promptTokens: 100, maxTokens: 50, answers: 1 };

function limits(requests: number, tokens: number): { limits: InferenceLimits; limiter: LocalRateLimiter } {
  const limiter = new LocalRateLimiter();
  const env = { INFERENCE_REQUESTS_PER_MINUTE: requests, INFERENCE_TOKENS_PER_MINUTE: tokens };
  return { limits: new InferenceLimits(limiter, env), limiter };
}

describe(InferenceLimits.name, () => {
  it('asks nobody where nothing is limited', () => {
    expect(limits(0, 0).limits.admit(WORKSPACE, small)).toBeNull();
  });

  it('counts requests of each workspace by itself', async () => {
    const { limits: two } = limits(2, 0);
    await two.admit(WORKSPACE, small)!.decided;
    await two.admit(WORKSPACE, small)!.decided;
    await expect(two.admit(WORKSPACE, small)!.decided).rejects.toMatchObject({
      code: 'rate_limit_exceeded',
      retryAfterSeconds: 30,
      headers: { 'X-RateLimit-Limit': '2', 'X-RateLimit-Remaining': '0' },
    });
    await two.admit('another', small)!.decided;
  });

  it('counts the tokens that a call used, whatever it was expected to use', async () => {
    const { limits: thousand } = limits(0, 1_000);
    const first = thousand.admit(WORKSPACE, small)!;
    await first.decided;
    first.used(900);
    await settled();
    await expect(thousand.admit(WORKSPACE, small)!.decided).rejects.toMatchObject({
      headers: { 'X-RateLimit-Limit': '1000', 'X-RateLimit-Remaining': '100' },
    });
    await thousand.admit(WORKSPACE, { promptTokens: 60, maxTokens: 40, answers: 1 })!.decided;
  });

  it('gives back what a call that failed did not use, and nothing for one that was refused', async () => {
    const { limits: thousand } = limits(0, 1_000);
    const first = thousand.admit(WORKSPACE, { promptTokens: 900, maxTokens: 100, answers: 1 })!;
    await first.decided;
    const second = thousand.admit(WORKSPACE, small)!;
    await expect(second.decided).rejects.toMatchObject({ status: 429 });
    second.used(0);
    await settled();
    await expect(thousand.admit(WORKSPACE, small)!.decided).rejects.toMatchObject({ status: 429 });
    first.used(0);
    await settled();
    await thousand.admit(WORKSPACE, small)!.decided;
  });

  it('does not hold a high cap against a caller, nor a prompt that is larger than the limit', async () => {
    const { limits: limited } = limits(0, 5_000);
    await limited.admit(WORKSPACE, { promptTokens: 100, maxTokens: 64_000, answers: 1 })!.decided;
    await limited.admit(WORKSPACE, { promptTokens: 100, maxTokens: null, answers: 3 })!.decided;
    await limited.admit('another', { promptTokens: 90_000, maxTokens: null, answers: 1 })!.decided;
    await expect(limited.admit('another', small)!.decided).rejects.toMatchObject({ status: 429 });
  });

  it('lets through one request and refuses the next where both limits stand, and takes no tokens for the refused', async () => {
    const { limits: both, limiter } = limits(1, 300);
    await both.admit(WORKSPACE, small)!.decided;
    await expect(both.admit(WORKSPACE, small)!.decided).rejects.toMatchObject({
      headers: { 'X-RateLimit-Limit': '1' },
    });
    limiter.nowMs = 60_000;
    await both.admit(WORKSPACE, { promptTokens: 300, maxTokens: 0, answers: 0 })!.decided;
  });
});

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
