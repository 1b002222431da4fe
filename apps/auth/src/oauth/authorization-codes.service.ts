import { randomUUID } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import {
  AUTHORIZATION_CODE_SECONDS,
  type AuthorizationCodeCreated,
  type AuthorizationCodeRedeemed,
  type CreateAuthorizationCodeRequest,
  type RedeemAuthorizationCodeRequest,
} from '@libs/contracts';
import { AppError } from '@libs/errors';
import { AuthorizationCodesRepository } from './authorization-codes.repository';

/** Authorization codes: made for a caller with a management key, exchanged for a key by an app that has the proof. */
@Injectable()
export class AuthorizationCodesService {
  private readonly logger = new Logger(AuthorizationCodesService.name);

  constructor(private readonly repository: AuthorizationCodesRepository) {}

  async create(request: CreateAuthorizationCodeRequest): Promise<AuthorizationCodeCreated> {
    const keyExpiresAt = request.keyExpiresAt === null ? null : new Date(request.keyExpiresAt);
    if (keyExpiresAt !== null && keyExpiresAt.getTime() <= Date.now()) {
      throw new AppError('invalid_request', 'expires_at must be in the future', { metadata: { param: 'expires_at' } });
    }
    const code = await this.repository.insertCode({
      codeHash: request.codeHash,
      organizationId: request.organizationId,
      workspaceId: request.workspaceId,
      appHost: request.appHost,
      challenge: request.challenge,
      challengeMethod: request.challengeMethod,
      keyName: request.keyName,
      limitUsd: request.limitUsd,
      limitReset: request.limitReset,
      keyExpiresAt,
      lifetimeSeconds: AUTHORIZATION_CODE_SECONDS,
    });
    return { appId: code.appId, createdAt: code.createdAt.toISOString() };
  }

  async redeem(request: RedeemAuthorizationCodeRequest): Promise<AuthorizationCodeRedeemed> {
    const key = { id: randomUUID(), hash: request.keyHash, label: request.keyLabel };
    const verdict = await this.repository.redeemCode(request, key);
    if (verdict === 'replayed') this.logger.warn('A used authorization code came again; its key was revoked');
    if (verdict === 'wrong-method') {
      throw new AppError('invalid_request', 'code_challenge_method is not the one that the code was made with', {
        metadata: { param: 'code_challenge_method' },
      });
    }
    if (verdict !== 'redeemed') {
      throw new AppError('permission_denied', 'The code or its verifier is not valid, or the code has expired');
    }
    return { keyHash: request.keyHash };
  }
}
