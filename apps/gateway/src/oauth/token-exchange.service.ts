import { Injectable } from '@nestjs/common';
import { ACCESS_TOKEN_SCOPE, EXCHANGE_PURPOSE, ExchangeToken, type TokenGrant, type TokenKeys } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { MessageBus } from '@libs/platform';
import { TokenKeyDirectory } from '../auth/token-keys';
import { GatewayEnv, publicUrlOf } from '../gateway.env';
import { invalidGrant } from './oauth-errors';
import { sealExchange } from './sealed-exchange';
import { ACCESS_TOKEN_URN, type TokenRequest } from './token-request';

/** The answer of a token exchange. */
export interface TokenResponse {
  readonly access_token: string;
  readonly expires_in: number;
  readonly issued_token_type: typeof ACCESS_TOKEN_URN;
  readonly scope: typeof ACCESS_TOKEN_SCOPE;
  readonly token_type: 'Bearer';
}

/** Sends subject tokens to the auth app, which decides, and returns access tokens; both are encrypted on the way. */
@Injectable()
export class TokenExchangeService {
  constructor(
    private readonly bus: MessageBus,
    private readonly keys: TokenKeyDirectory,
    private readonly env: GatewayEnv,
  ) {}

  /**
   * @param organizationId of the bearer key in the request
   * @throws AppError `invalid_grant`, or the error why the exchange could not be decided
   */
  async exchange(request: TokenRequest, organizationId: string | null): Promise<TokenResponse> {
    const attempt = (keys: TokenKeys): Promise<TokenResponse> => this.ask(request, organizationId, keys);
    return attempt(await this.keys.current()).catch(async (error: unknown) => {
      // The operator removed the key to which the request was sealed; a new one exists by now.
      if (!(error instanceof AppError) || error.code !== 'precondition_failed') throw error;
      return attempt(await this.keys.refreshed());
    });
  }

  private async ask(
    { policyId, subjectToken }: TokenRequest,
    organizationId: string | null,
    { sealingKey }: TokenKeys,
  ): Promise<TokenResponse> {
    if (sealingKey === null) throw new AppError('provider_unavailable', 'Access tokens cannot be signed');
    const { sealed, answerPair } = await sealExchange(subjectToken, sealingKey);
    const issuer = publicUrlOf(this.env);
    const { grant } = await this.bus.call(ExchangeToken, { policyId, organizationId, sealed, issuer });
    if (grant === null) throw invalidGrant();
    const accessToken = await answerPair.open(grant.sealedToken, EXCHANGE_PURPOSE);
    return responseOf(grant, accessToken.reveal());
  }
}

function responseOf({ expiresInSeconds }: TokenGrant, accessToken: string): TokenResponse {
  return {
    access_token: accessToken,
    expires_in: expiresInSeconds,
    issued_token_type: ACCESS_TOKEN_URN,
    scope: ACCESS_TOKEN_SCOPE,
    token_type: 'Bearer',
  };
}
