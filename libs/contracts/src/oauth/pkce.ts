import { hash } from 'node:crypto';

/** Proof Key for Code Exchange (RFC 7636). */
export const CHALLENGE_METHODS = ['S256', 'plain'] as const;
export type ChallengeMethod = (typeof CHALLENGE_METHODS)[number];

/** RFC 7636 §4.1: also the grammar of a plain challenge, which is the verifier itself. */
const VERIFIER = /^[A-Za-z0-9\-._~]{43,128}$/;
const S256_CHALLENGE = /^[A-Za-z0-9_-]{43}$/;

export function isCodeVerifier(value: unknown): value is string {
  return typeof value === 'string' && VERIFIER.test(value);
}

/** Whether a challenge has the grammar of its method; a challenge without one is `plain` (RFC 7636 §4.3). */
export function isCodeChallenge(value: unknown, method: ChallengeMethod = 'plain'): value is string {
  return method === 'S256' ? typeof value === 'string' && S256_CHALLENGE.test(value) : isCodeVerifier(value);
}

/** The S256 challenge of a verifier: 43 characters of base64url without padding (RFC 7636 §4.2). */
export function challengeOf(verifier: string): string {
  return hash('sha256', verifier, 'base64url');
}

/**
 * Returns the form in which a challenge is stored and sent over the broker. A plain challenge is the verifier, which is
 * a secret, so the S256 challenge of it is stored instead.
 */
export function storedChallenge(challenge: string, method: ChallengeMethod): string {
  return method === 'S256' ? challenge : challengeOf(challenge);
}
