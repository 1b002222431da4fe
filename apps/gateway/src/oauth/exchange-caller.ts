import { Injectable } from '@nestjs/common';
import { hashApiKey, readApiKeyKind } from '@libs/contracts';
import { KeyDirectory } from '@libs/platform';
import { badCredential, readBearer } from '../auth/bearer';
import { GatewayEnv } from '../gateway.env';

/** Who asks for an exchange: the organization of its key. */
@Injectable()
export class ExchangeCaller {
  constructor(
    private readonly directory: KeyDirectory,
    private readonly env: GatewayEnv,
  ) {}

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
