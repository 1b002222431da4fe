import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { newBrokerKeys, type BrokerKeys, type PartyName } from '@libs/contracts';
import { writeWhole } from '../services/private-settings';

/** The keys of a development installation: made once, kept in `.sluice/secrets.json`, readable by its owner only. */
export interface DevelopmentSecrets {
  /** `id:base64(32 bytes)`, for the credentials service alone. */
  readonly CREDENTIALS_KEYRING: string;
  /** A JSON list of ES256 private JWKs, for the auth service alone. */
  readonly TOKEN_SIGNING_KEYS: string;
  /** What the sandbox provider asks of whoever calls it. */
  readonly SANDBOX_API_KEY: string;
  /** What the apps and the command line sign their messages with: each gets its own private key alone. */
  readonly BROKER_KEYS: BrokerKeys;
}

/** The two variables that say who a process is on the broker. */
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
