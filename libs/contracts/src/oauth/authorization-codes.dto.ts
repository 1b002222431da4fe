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

  /** US dollars; null or left out is no limit. */
  @IsOptional()
  @IsUsdNumber()
  limit?: number | null;

  @IsOptional()
  @IsIn(LIMIT_RESETS)
  usage_limit_type?: LimitReset | null;

  /** Of the key: ISO 8601 UTC with seconds, in the future. */
  @IsOptional()
  @IsUtcInstant()
  expires_at?: string | null;

  /** Left out: the organization's default workspace. */
  @MayBeAbsent()
  @IsUUID()
  workspace_id?: string;

  /** The name of the key to be; left out, that of the app. */
  @MayBeAbsent()
  @IsNameText(1, 100)
  key_label?: string;
}

/** Body of `POST /auth/keys/code`. Members of other names are ignored. */
export class CreateAuthorizationCodeDto extends CodeRequestDto {
  @IsCallbackUrl()
  callback_url: string;

  /** For telemetry of programs that start agents; checked, and not kept. */
  @IsOptional()
  @IsStoredText(200)
  spawn_agent?: string | null;

  @IsOptional()
  @IsStoredText(200)
  spawn_cloud?: string | null;
}

/** What an app asks on the consent page. Without a callback URL the code is shown, and a challenge is needed. */
export class ConsentRequestDto extends CodeRequestDto {
  @MayBeAbsent()
  @IsCallbackUrl()
  callback_url?: string;
}

/** Body of `POST /auth/keys`: the code for the key. */
export class ExchangeAuthorizationCodeDto {
  @IsStoredText(512)
  code: string;

  /** Needed exactly if the code was asked for with a challenge. Malformed text counts as a wrong verifier. */
  @IsOptional()
  @IsStoredText(512)
  code_verifier?: string | null;

  /** When given, the one the code was asked for with. */
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
