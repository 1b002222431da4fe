import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import { APP_NAMES, type AppName } from '@libs/contracts';

/** Login of an app. `password` is null for a login that a database administrator created. */
export interface AppLogin {
  readonly app: AppName;
  readonly login: string;
  readonly password: string | null;
  /**
   * Most concurrent connections, -1 for any number. If absent, a new login gets a default, and existing ones are not
   * changed.
   */
  readonly connections?: number | undefined;
}

const FORM = /^([a-z-]+)=([a-z_][a-z0-9_]{0,62})(?::([!-~]{1,200}))?$/;
const LIMIT = /^([a-z-]+)=([1-9]\d{0,5})$/;
const ITERATIONS = 4_096;

/**
 * Reads `app=login:password` between commas.
 *
 * @param limits `app=connections` between commas
 * @throws Error that names no password
 */
export function parseAppLogins(text: string, limits = ''): AppLogin[] {
  const connections = parseConnections(limits);
  const logins = entriesOf(text).map((entry) => {
    const [, name, login = '', password = null] = FORM.exec(entry) ?? [];
    const app = APP_NAMES.find((one) => one === name);
    if (app === undefined) throw new Error('DATABASE_LOGINS must be app=login:password between commas');
    return { app, login, password, connections: connections.get(app) };
  });
  if (new Set(logins.map(({ login }) => login)).size < logins.length) {
    throw new Error('DATABASE_LOGINS must name a login of its own for each app');
  }
  return logins;
}

function parseConnections(text: string): ReadonlyMap<AppName, number> {
  return new Map(
    entriesOf(text).map((entry) => {
      const [, name, limit] = LIMIT.exec(entry) ?? [];
      const app = APP_NAMES.find((one) => one === name);
      if (app === undefined) throw new Error('DATABASE_CONNECTIONS must be app=number between commas');
      return [app, Number(limit)];
    }),
  );
}

function entriesOf(text: string): string[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

/** Returns the SCRAM-SHA-256 verifier that PostgreSQL stores. The server may log a statement with a plain password. */
export function verifierOf(password: string, salt = randomBytes(16)): string {
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, 'sha256');
  const keyOf = (name: string): Buffer => createHmac('sha256', salted).update(name).digest();
  const stored = createHash('sha256').update(keyOf('Client Key')).digest('base64');
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${stored}:${keyOf('Server Key').toString('base64')}`;
}
