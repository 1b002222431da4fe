import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import { APP_NAMES, type AppName } from '@libs/contracts';

/** Login of an app. `password` is null for a login that a database administrator made. */
export interface AppLogin {
  readonly app: AppName;
  readonly login: string;
  readonly password: string | null;
}

const FORM = /^([a-z-]+)=([a-z_][a-z0-9_]{0,62})(?::([!-~]{1,200}))?$/;
const ITERATIONS = 4_096;

/** Reads `app=login:password` between commas. @throws Error that names no password */
export function parseAppLogins(text: string): AppLogin[] {
  const logins = text
    .split(',')
    .filter((entry) => entry.trim() !== '')
    .map((entry) => {
      const [, name, login = '', password = null] = FORM.exec(entry.trim()) ?? [];
      const app = APP_NAMES.find((one) => one === name);
      if (app === undefined) throw new Error('DATABASE_LOGINS must be app=login:password between commas');
      return { app, login, password };
    });
  if (new Set(logins.map(({ login }) => login)).size < logins.length) {
    throw new Error('DATABASE_LOGINS must name a login of its own for each app');
  }
  return logins;
}

/** Returns the SCRAM-SHA-256 verifier that PostgreSQL stores. The server may log a statement with a plain password. */
export function verifierOf(password: string, salt = randomBytes(16)): string {
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, 'sha256');
  const keyOf = (name: string): Buffer => createHmac('sha256', salted).update(name).digest();
  const stored = createHash('sha256').update(keyOf('Client Key')).digest('base64');
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${stored}:${keyOf('Server Key').toString('base64')}`;
}
