import { Injectable } from '@nestjs/common';
import { hashApiKey, readApiKeyKind } from '@libs/contracts';
import { KeyDirectory } from '@libs/platform';
import { badCredential, readBearer } from '../auth/bearer';
import { GatewayEnv } from '../gateway.env';
import { RateLimiter, rateLimitError, type RateLimit } from '../limits/rate-limiter';
import { sourceOf } from '../limits/source-address';

/** Who asks for an exchange: an address that must not ask too often, and the organization of its key. */
@Injectable()
export class ExchangeCaller {
  private readonly rate: RateLimit;

  constructor(
    private readonly directory: KeyDirectory,
    private readonly limiter: RateLimiter,
    private readonly env: GatewayEnv,
  ) {
    const perMinute = env.TOKEN_EXCHANGES_PER_MINUTE;
    this.rate = { name: 'token-exchanges', perMinute, burst: perMinute, withoutStore: 'refuse' };
  }

  /** @throws AppError rate_limit_exceeded; provider_overloaded while nobody can count for all gateways */
  async count(address: string): Promise<void> {
    const verdict = await this.limiter.take(this.rate, sourceOf(address));
    if (!verdict.allowed) throw rateLimitError(verdict);
  }

  /**
   * The organization of the key that came along, of either kind; null without one where none is needed.
   *
   * @param rawHeaders as Node's `IncomingMessage.rawHeaders`
   * @throws AppError authentication for a key that is no usable one, and for none where one is needed
   */
  async organizationOf(rawHeaders: readonly string[]): Promise<string | null> {
    const brings = rawHeaders.some((name, index) => index % 2 === 0 && name.toLowerCase() === 'authorization');
    if (!brings && !this.env.TOKEN_EXCHANGE_REQUIRE_BEARER) return null;
    const key = readBearer(rawHeaders);
    const principal = readApiKeyKind(key) === null ? null : await this.directory.find(hashApiKey(key));
    if (principal === null) throw badCredential();
    return principal.organizationId;
  }
}
