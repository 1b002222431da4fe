import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { CONSENT_SESSION_SECONDS } from '@libs/contracts';
import { CONSENT_PATH } from './consent-pages';

/** 32 random bytes in base64url. */
const SECRET = /^[\w-]{43}$/;

export const SESSION_COOKIE = 'consent_session';
/** For the forms of a person who is not signed in. */
export const FORM_COOKIE = 'consent_form';

export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** The secret in a cookie of ours; null for anything that we did not set (RFC 6265 §5.4). */
export function readCookie(header: string | undefined, name: string): string | null {
  const values = (header ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  // A second cookie of the same name was set by another party.
  return values.length === 1 && SECRET.test(values[0]!) ? values[0]! : null;
}

/**
 * The cookie is out of reach for scripts, is not sent along from other sites, and only to the consent page.
 *
 * @param secret null takes the cookie away
 */
export function setCookie(name: string, secret: string | null, publicUrl: string): string {
  const secure = publicUrl.startsWith('https:') ? '; Secure' : '';
  const age = secret === null ? 0 : CONSENT_SESSION_SECONDS;
  return `${name}=${secret ?? ''}; Path=${CONSENT_PATH}; HttpOnly; SameSite=Strict; Max-Age=${age}${secure}`;
}

/** What a form has to bring along with the cookie: another site can neither read nor compute it. */
export function formTokenOf(cookieSecret: string): string {
  return createHmac('sha256', cookieSecret).update('consent form').digest('base64url');
}

export function isFormTokenOf(cookieSecret: string | null, given: string | undefined): boolean {
  if (cookieSecret === null || given === undefined) return false;
  const [expected, actual] = [Buffer.from(formTokenOf(cookieSecret)), Buffer.from(given)];
  return expected.length === actual.length && timingSafeEqual(expected, actual);
}
