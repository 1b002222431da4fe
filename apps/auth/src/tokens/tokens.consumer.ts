import { Controller } from '@nestjs/common';
import {
  ExchangeToken,
  ExchangeTokenRequest,
  GetTokenKeys,
  type ExchangeTokenResponse,
  type TokenKeys,
} from '@libs/contracts';
import { Handles } from '@libs/platform';
import { TokenExchangeService } from './token-exchange.service';
import { TokenKeysService } from './token-keys.service';

@Controller()
export class TokensConsumer {
  constructor(
    private readonly keys: TokenKeysService,
    private readonly exchanges: TokenExchangeService,
  ) {}

  @Handles(GetTokenKeys)
  getKeys(): TokenKeys {
    return this.keys.published;
  }

  @Handles(ExchangeToken)
  exchange(request: ExchangeTokenRequest): Promise<ExchangeTokenResponse> {
    return this.exchanges.exchange(request);
  }
}
