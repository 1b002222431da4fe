import type { Secret } from '@libs/contracts';
import { loadEnv, SecretText, ServicesEnv } from '@libs/platform';
import { IsKeyRing } from './vault/is-key-ring';

export class CredentialsEnv extends ServicesEnv {
  override HEALTH_PORT: number = 8_084;

  /** `id:base64(32 bytes)`, between commas: the key-encryption keys, the first is the current one. */
  @SecretText({ expected: 'id:base64(32 bytes), between commas', maxLength: 65_536 })
  @IsKeyRing()
  CREDENTIALS_KEYRING: Secret;
}

/** @throws EnvError */
export function readCredentialsEnv(source: NodeJS.ProcessEnv = process.env): CredentialsEnv {
  return loadEnv(CredentialsEnv, source);
}
