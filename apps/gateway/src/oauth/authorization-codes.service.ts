import { Injectable } from '@nestjs/common';
import {
  callbackHost,
  challengeOf,
  CreateAuthorizationCode,
  hashApiKey,
  hashOfSecret,
  isAuthorizationCode,
  labelApiKey,
  mintApiKey,
  mintAuthorizationCode,
  RedeemAuthorizationCode,
  storedChallenge,
  usdFromNumber,
  type CodeRequestDto,
  type CreateAuthorizationCodeRequest,
  type ExchangeAuthorizationCodeDto,
} from '@libs/contracts';
import { AppError } from '@libs/errors';
import { MessageBus, ServicesEnv } from '@libs/platform';
import type { RequestIds } from '../auth/audit.interceptor';

/** Name of a key whose app has no callback URL to derive a name from. */
const NAMELESS_APP = 'A command-line program';

export interface IssuedCode {
  readonly code: string;
  /** Null without a callback URL. */
  readonly appId: number | null;
  readonly createdAt: string;
}

/**
 * Authorization codes and the keys that they are exchanged for (RFC 7636). Codes and keys are created here; the auth
 * app receives only their hashes.
 */
@Injectable()
export class AuthorizationCodesService {
  constructor(
    private readonly bus: MessageBus,
    private readonly env: ServicesEnv,
  ) {}

  /** @param callbackUrl a valid URL; null if the code is shown to a person */
  async issue(organizationId: string, callbackUrl: string | null, wanted: CodeRequestDto): Promise<IssuedCode> {
    const code = mintAuthorizationCode();
    const appHost = callbackUrl === null ? null : callbackHost(callbackUrl);
    const { appId, createdAt } = await this.bus.call(CreateAuthorizationCode, {
      codeHash: hashOfSecret(code),
      organizationId,
      workspaceId: wanted.workspace_id ?? null,
      appHost,
      ...challengeMembers(wanted),
      keyName: wanted.key_label ?? appHost ?? NAMELESS_APP,
      limitUsd: typeof wanted.limit === 'number' ? usdFromNumber(wanted.limit) : null,
      limitReset: wanted.usage_limit_type ?? null,
      keyExpiresAt: wanted.expires_at ?? null,
    });
    return { code, appId, createdAt };
  }

  /**
   * Returns the key for a code.
   * @param receivedAt when the request began to arrive
   * @param ids for the audit trail
   * @throws AppError permission_denied for any invalid code or verifier, invalid_request for the method
   */
  async redeem(given: ExchangeAuthorizationCodeDto, receivedAt: Date, ids: RequestIds): Promise<string> {
    if (!isAuthorizationCode(given.code)) throw badCode();
    const key = mintApiKey(this.env.SERVICE_NAME, 'api');
    const { code_verifier: verifier, code_challenge_method: method } = given;
    await this.bus.call(RedeemAuthorizationCode, {
      codeHash: hashOfSecret(given.code),
      challenge: typeof verifier === 'string' ? challengeOf(verifier) : null,
      challengeMethod: method ?? null,
      keyHash: hashApiKey(key),
      keyLabel: labelApiKey(key),
      receivedAt: receivedAt.toISOString(),
      ...ids,
    });
    return key;
  }
}

function challengeMembers({
  code_challenge: challenge,
  code_challenge_method: method = 'plain',
}: CodeRequestDto): Pick<CreateAuthorizationCodeRequest, 'challenge' | 'challengeMethod'> {
  if (challenge === undefined) return { challenge: null, challengeMethod: null };
  return { challenge: storedChallenge(challenge, method), challengeMethod: method };
}

function badCode(): AppError {
  return new AppError('permission_denied', 'The code or its verifier is not valid, or the code has expired');
}
