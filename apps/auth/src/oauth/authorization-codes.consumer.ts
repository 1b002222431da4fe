import { Controller } from '@nestjs/common';
import {
  CreateAuthorizationCode,
  CreateAuthorizationCodeRequest,
  RedeemAuthorizationCode,
  RedeemAuthorizationCodeRequest,
  type AuthorizationCodeCreated,
  type AuthorizationCodeRedeemed,
} from '@libs/contracts';
import { Handles } from '@libs/platform';
import { AuthorizationCodesService } from './authorization-codes.service';

@Controller()
export class AuthorizationCodesConsumer {
  constructor(private readonly codes: AuthorizationCodesService) {}

  @Handles(CreateAuthorizationCode)
  create(request: CreateAuthorizationCodeRequest): Promise<AuthorizationCodeCreated> {
    return this.codes.create(request);
  }

  @Handles(RedeemAuthorizationCode)
  redeem(request: RedeemAuthorizationCodeRequest): Promise<AuthorizationCodeRedeemed> {
    return this.codes.redeem(request);
  }
}
