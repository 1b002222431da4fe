import { MAX_CLAIM_LENGTH, type PolicyCheck } from '@libs/contracts';
import type { Claims } from './claims';

/** What the claims of a verified token are compared with. */
export interface ClaimRules {
  /** Exactly the `iss`. */
  readonly issuerUrl: string;
  /** Our own issuer, whose tokens are refused as subject tokens. */
  readonly ownIssuer: string;
  readonly audience: string;
  readonly subject: string | null;
  readonly singleUse: boolean;
  readonly checks: readonly PolicyCheck[];
}

/** A token that may be exchanged. */
export interface AdmittedToken {
  readonly subject: string;
  readonly expiresAtSeconds: number;
  /** Set exactly if the policy requires it. */
  readonly tokenId: string | null;
}

/** Why a token may not be exchanged: for our logs, never for the caller. */
export interface ClaimProblem {
  readonly problem: string;
}

/** How far another clock may be ahead of ours. The end of a token is checked exactly, to the second. */
const LEEWAY_SECONDS = 30;
const LONGEST_LIFE_SECONDS = 24 * 60 * 60;
const MAX_TOKEN_ID_LENGTH = 256;
const MAX_SCOPES = 16;

/**
 * Checks the claims of a token whose signature was verified: its time, issuer, audience and subject, then the further
 * checks of the policy (RFC 7519 §4.1, RFC 8725 §3). Case-sensitive, without trimming.
 */
export function judgeClaims(claims: Claims, rules: ClaimRules, nowSeconds: number): AdmittedToken | ClaimProblem {
  const problem =
    findTimeProblem(claims, nowSeconds) ??
    findIssuerProblem(claims, rules) ??
    findAudienceProblem(claims.aud, rules.audience) ??
    findSubjectProblem(claims.sub, rules.subject) ??
    findTokenIdProblem(claims.jti, rules.singleUse) ??
    findScopesProblem(claims.scopes) ??
    (rules.checks.every((check) => passes(claims, check)) ? null : 'a check of the policy fails');
  if (problem !== null) return { problem };
  return {
    subject: claims.sub as string,
    expiresAtSeconds: claims.exp as number,
    tokenId: rules.singleUse ? (claims.jti as string) : null,
  };
}

function findTimeProblem({ exp, iat, nbf }: Claims, now: number): string | null {
  if (!isSeconds(exp)) return 'exp is missing or no time';
  if (exp - now < 1) return 'the token has expired';
  for (const begin of [iat, nbf]) {
    if (begin !== undefined && !isSeconds(begin)) return 'iat or nbf is no time';
    if (begin !== undefined && begin > now + LEEWAY_SECONDS) return 'iat or nbf is in the future';
  }
  const begin = isSeconds(iat) ? iat : now;
  return exp - begin > LONGEST_LIFE_SECONDS ? 'the token lives longer than a day' : null;
}

function isSeconds(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

function findIssuerProblem({ iss }: Claims, { issuerUrl, ownIssuer }: ClaimRules): string | null {
  if (iss !== issuerUrl) return 'iss is not the issuer of the policy';
  return iss === ownIssuer ? 'the token is one of ours' : null;
}

function findAudienceProblem(aud: unknown, audience: string): string | null {
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  if (!audiences.every((one) => isText(one))) return 'aud is missing, too long or no text';
  return audiences.includes(audience) ? null : 'aud is not that of the policy';
}

function findSubjectProblem(sub: unknown, subject: string | null): string | null {
  if (!isText(sub)) return 'sub is missing, too long or no text';
  return subject === null || sub === subject ? null : 'sub is not that of the policy';
}

function findTokenIdProblem(jti: unknown, isNeeded: boolean): string | null {
  if (!isNeeded) return null;
  return isText(jti, MAX_TOKEN_ID_LENGTH) ? null : 'jti is missing, too long or no text';
}

function findScopesProblem(scopes: unknown): string | null {
  if (scopes === undefined) return null;
  const fits = Array.isArray(scopes) && scopes.length <= MAX_SCOPES && scopes.every((scope) => isText(scope));
  return fits ? null : 'scopes is no list of a few texts';
}

function passes(claims: Claims, { kind, value }: PolicyCheck): boolean {
  switch (kind) {
    case 'scopes':
      return Array.isArray(claims.scopes) && claims.scopes.includes(value);
    case 'token_type':
      return claims.token_type === value;
  }
}

function isText(value: unknown, maxLength: number = MAX_CLAIM_LENGTH): value is string {
  return typeof value === 'string' && value !== '' && value.length <= maxLength;
}
