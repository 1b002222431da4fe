import { Injectable } from '@nestjs/common';
import { hashApiKey, readApiKeyKind } from '@libs/contracts';
import { KeyDirectory } from '@libs/platform';
import { badCredential, readBearer } from '../auth/bearer';
import { FailedAuthentications } from '../auth/failed-authentications';
import { GatewayEnv } from '../gateway.env';

/** Finds the caller of a token exchange: the organization of its key. */
@Injectable()
export class ExchangeCaller {
  constructor(
    private readonly directory: KeyDirectory,
    private readonly failures: FailedAuthentications,
    private readonly env: GatewayEnv,
  ) {}

  /**
   * Returns the organization of the request's key, of either kind; null without a key if none is required.
   * @param rawHeaders as Node's `IncomingMessage.rawHeaders`
   * @param address the source address, whose unknown keys are counted
   * @throws AppError authentication for an invalid key, or if a required key is missing; rate_limit_exceeded for an
   * address with too many unknown keys
   */
  async organizationOf(rawHeaders: readonly string[], address: string): Promise<string | null> {
    const brings = rawHeaders.some((name, index) => index % 2 === 0 && name.toLowerCase() === 'authorization');
    if (!brings && !this.env.TOKEN_EXCHANGE_REQUIRE_BEARER) return null;
    const key = readBearer(rawHeaders);
    if (readApiKeyKind(key) === null) throw badCredential();
    const hash = hashApiKey(key);
    const principal = await this.failures.judgeKey(address, hash, async () => this.directory.find(hash));
    if (principal === null) throw badCredential();
    return principal.organizationId;
  }
}
