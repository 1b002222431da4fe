import { IsIn, IsOptional, IsUUID } from 'class-validator';
import { IsUsdNumber } from '../keys/keys.dto';
import { LIMIT_RESETS, type LimitReset } from '../keys/keys.messages';
import { IsNameText, IsStoredText, IsUtcInstant, MayBeAbsent } from '../organizations/member-rules';
import { IsWellFormed } from '../validation/well-formed';
import { IsCallbackUrl } from './callback-url';
import { CHALLENGE_METHODS, isCodeChallenge, type ChallengeMethod } from './pkce';

/** Fields of a request for an authorization code, by a program or by a person on the consent page. */
export class CodeRequestDto {
  /** S256: 43 characters of base64url. Plain: 43 to 128 unreserved characters. */
  @MayBeAbsent()
  @IsWellFormed((value, { code_challenge_method: method }) =>
    isCodeChallenge(
      value,
      CHALLENGE_METHODS.find((known) => known === method),
    )
      ? null
      : ' must be a PKCE challenge of its method (RFC 7636 §4.2)',
  )
  code_challenge?: string;

  /** Left out with a challenge: plain. */
  @MayBeAbsent()
  @IsIn(CHALLENGE_METHODS)
  @IsWellFormed((_value, { code_challenge: challenge }) =>
    challenge === undefined ? ' must not stand without code_challenge' : null,
  )
  code_challenge_method?: ChallengeMethod;

  /** US dollars; null or absent means no limit. */
  @IsOptional()
  @IsUsdNumber()
  limit?: number | null;

  @IsOptional()
  @IsIn(LIMIT_RESETS)
  usage_limit_type?: LimitReset | null;

  /** Expiry of the key: ISO 8601 UTC with seconds, in the future. */
  @IsOptional()
  @IsUtcInstant()
  expires_at?: string | null;

  /** Left out: the organization's default workspace. */
  @MayBeAbsent()
  @IsUUID()
  workspace_id?: string;

  /** Name of the new key; if absent, the name of the app. */
  @MayBeAbsent()
  @IsNameText(1, 100)
  key_label?: string;
}

/** Body of `POST /auth/keys/code`. Other fields are ignored. */
export class CreateAuthorizationCodeDto extends CodeRequestDto {
  @IsCallbackUrl()
  callback_url: string;

  /** For telemetry of programs that start agents; validated but not stored. */
  @IsOptional()
  @IsStoredText(200)
  spawn_agent?: string | null;

  @IsOptional()
  @IsStoredText(200)
  spawn_cloud?: string | null;
}

/** The request of an app on the consent page. Without a callback URL the code is shown, and a challenge is required. */
export class ConsentRequestDto extends CodeRequestDto {
  @MayBeAbsent()
  @IsCallbackUrl()
  callback_url?: string;
}

/** Body of `POST /auth/keys`: the code for the key. */
export class ExchangeAuthorizationCodeDto {
  @IsStoredText(512)
  code: string;

  /** Required exactly if the code was created with a challenge. Malformed text counts as a wrong verifier. */
  @IsOptional()
  @IsStoredText(512)
  code_verifier?: string | null;

  /** If given, it must be the method with which the code was created. */
  @IsOptional()
  @IsIn(CHALLENGE_METHODS)
  code_challenge_method?: ChallengeMethod | null;
}

/** `data` of `POST /auth/keys/code`. */
export interface AuthorizationCodeDto {
  /** The code itself, shown once. */
  id: string;
  app_id: number;
  created_at: string;
}
