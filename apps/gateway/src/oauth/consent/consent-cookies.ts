import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { CONSENT_SESSION_SECONDS } from '@libs/contracts';
import { CONSENT_PATH } from './consent-pages';

/** 32 random bytes in base64url. */
const SECRET = /^[\w-]{43}$/;

export const SESSION_COOKIE = 'consent_session';
/** Cookie for forms of a person who is not signed in. */
export const FORM_COOKIE = 'consent_form';

export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** Returns the secret in one of our cookies; null for anything that we did not set (RFC 6265 §5.4). */
export function readCookie(header: string | undefined, name: string): string | null {
  const values = (header ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  // A second cookie with the same name was set by another party.
  return values.length === 1 && SECRET.test(values[0]!) ? values[0]! : null;
}

/**
 * Sets a cookie that scripts cannot read, that other sites cannot send, and that is sent only to the consent page.
 * @param secret null removes the cookie
 */
export function setCookie(name: string, secret: string | null, publicUrl: string): string {
  const secure = publicUrl.startsWith('https:') ? '; Secure' : '';
  const age = secret === null ? 0 : CONSENT_SESSION_SECONDS;
  return `${name}=${secret ?? ''}; Path=${CONSENT_PATH}; HttpOnly; SameSite=Strict; Max-Age=${age}${secure}`;
}

/**
 * Returns the token that a form must contain in addition to the cookie. Another site can neither read nor compute it.
 */
export function formTokenOf(cookieSecret: string): string {
  return createHmac('sha256', cookieSecret).update('consent form').digest('base64url');
}

export function isFormTokenOf(cookieSecret: string | null, given: string | undefined): boolean {
  if (cookieSecret === null || given === undefined) return false;
  const [expected, actual] = [Buffer.from(formTokenOf(cookieSecret)), Buffer.from(given)];
  return expected.length === actual.length && timingSafeEqual(expected, actual);
}
