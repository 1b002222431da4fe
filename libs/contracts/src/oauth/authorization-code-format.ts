import { hash } from 'node:crypto';
import { randomBase62 } from '../keys/api-key-format';

/** 43 base62 characters are over 255 bits of chance. */
const SECRET_LENGTH = 43;
const PATTERN = /^auth_code_[0-9A-Za-z]{43}$/;

/** How long a code can be exchanged (RFC 6749 §4.1.2 advises ten minutes at most). */
export const AUTHORIZATION_CODE_SECONDS = 600;

export function mintAuthorizationCode(): string {
  return `auth_code_${randomBase62(SECRET_LENGTH)}`;
}

export function isAuthorizationCode(text: string): boolean {
  return PATTERN.test(text);
}

/** Returns the SHA-256 of a code or of another random secret, as 64 lower-case hex characters; only this is stored. */
export function hashOfSecret(secret: string): string {
  return hash('sha256', secret, 'hex');
}
