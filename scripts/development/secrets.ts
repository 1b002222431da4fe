import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { APP_NAMES, newBrokerKeys, type AppName, type BrokerKeys, type PartyName } from '@libs/contracts';
import { writeWhole } from '../services/private-settings';

/**
 * The keys of a development installation: created once, stored in `.sluice/secrets.json`, readable by its owner only.
 */
export interface DevelopmentSecrets {
  /** `id:base64(32 bytes)`, for the credentials service alone. */
  readonly CREDENTIALS_KEYRING: string;
  /** A JSON list of ES256 private JWKs, for the auth app only. */
  readonly TOKEN_SIGNING_KEYS: string;
  /** The key that callers of the sandbox provider must send. */
  readonly SANDBOX_API_KEY: string;
  /** The keys with which the apps and the command line sign their messages: each gets only its own private key. */
  readonly BROKER_KEYS: BrokerKeys;
  /** Passwords of the apps' logins in PostgreSQL: each app gets only its own. */
  readonly DATABASE_PASSWORDS: Readonly<Record<AppName, string>>;
}

/** Logins are the cluster's, so they are named for their database. */
const loginOf = (app: AppName, url: URL): string =>
  `login_${url.pathname.slice(1)}_${app}`.toLowerCase().replaceAll(/[^a-z0-9_]/g, '_');

/** Returns the environment with which `migrate` creates the apps' logins. `url` is that of the database owner. */
export function databaseLogins(
  url: string,
  { DATABASE_PASSWORDS }: Pick<DevelopmentSecrets, 'DATABASE_PASSWORDS'>,
): string {
  return APP_NAMES.map((app) => `${app}=${loginOf(app, new URL(url))}:${DATABASE_PASSWORDS[app]}`).join(',');
}

/** The URL with which an app connects. */
export function databaseUrlOf(
  app: AppName,
  url: string,
  { DATABASE_PASSWORDS }: Pick<DevelopmentSecrets, 'DATABASE_PASSWORDS'>,
): string {
  const own = new URL(url);
  [own.username, own.password] = [loginOf(app, own), DATABASE_PASSWORDS[app]];
  return own.href;
}

/** Returns the two variables that identify a process on the broker. */
export function brokerKeysOf(
  party: PartyName,
  { BROKER_KEYS: { privateKeys, publicKeys } }: Pick<DevelopmentSecrets, 'BROKER_KEYS'>,
): Readonly<Record<'BROKER_PRIVATE_KEYS' | 'BROKER_PUBLIC_KEYS', string>> {
  return { BROKER_PRIVATE_KEYS: privateKeys[party], BROKER_PUBLIC_KEYS: publicKeys };
}

function newSecrets(): DevelopmentSecrets {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const keyId = `dev-${randomBytes(4).toString('hex')}`;
  const signingKey = { ...privateKey.export({ format: 'jwk' }), kid: keyId, alg: 'ES256', use: 'sig' };
  return {
    CREDENTIALS_KEYRING: `${keyId}:${randomBytes(32).toString('base64')}`,
    TOKEN_SIGNING_KEYS: JSON.stringify([signingKey]),
    SANDBOX_API_KEY: `sandbox-${randomBytes(16).toString('base64url')}`,
    BROKER_KEYS: newBrokerKeys(),
    DATABASE_PASSWORDS: Object.fromEntries(
      APP_NAMES.map((app) => [app, randomBytes(16).toString('hex')]),
    ) as unknown as DevelopmentSecrets['DATABASE_PASSWORDS'],
  };
}

/** A file that exists but cannot be read stops `up`: new keys would make every stored credential unreadable. */
export function developmentSecrets(file: string): DevelopmentSecrets {
  let stored: Partial<DevelopmentSecrets> = {};
  try {
    stored = JSON.parse(readFileSync(file, 'utf8')) as Partial<DevelopmentSecrets>;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
      throw new Error(`${file} cannot be read; it holds the keys of this installation`, { cause: error });
    }
  }
  const secrets = { ...newSecrets(), ...stored };
  writeWhole(file, `${JSON.stringify(secrets, null, 2)}\n`);
  return secrets;
}
