import type { Secret } from '@libs/contracts';
import { loadEnv, PublicUrl, SecretText, ServicesEnv, Text } from '@libs/platform';
import { IsOptional } from 'class-validator';
import { IsKeyRing } from './vault/is-key-ring';

export class CredentialsEnv extends ServicesEnv {
  override HEALTH_PORT: number = 8_084;

  /**
   * The key-encryption keys, comma-separated, the current one first: `id:base64(32 bytes)`, or the name of a key in a
   * key management service. The other variables configure such services, with the names that the services' own tools
   * use.
   */
  @SecretText({ expected: 'a list of key-encryption keys, between commas', maxLength: 65_536 })
  @IsKeyRing()
  CREDENTIALS_KEYRING: Secret;

  @IsOptional()
  @Text({ expected: 'an access key id', pattern: /^\w{16,128}$/ })
  AWS_ACCESS_KEY_ID?: string;

  @IsOptional()
  @SecretText({ expected: 'a secret access key' })
  AWS_SECRET_ACCESS_KEY?: Secret;

  @IsOptional()
  @SecretText({ expected: 'a session token' })
  AWS_SESSION_TOKEN?: Secret;

  @IsOptional()
  @PublicUrl(['http', 'https'])
  AWS_CONTAINER_CREDENTIALS_FULL_URI?: string;

  @IsOptional()
  @Text({ expected: 'a path', pattern: /^\// })
  AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE?: string;

  @IsOptional()
  @PublicUrl(['http', 'https'])
  AWS_ENDPOINT_URL_KMS?: string;

  @IsOptional()
  @Text({ expected: 'a host, or host:port', pattern: /^[\w.-]+(?::\d{1,5})?$/ })
  GCE_METADATA_HOST?: string;

  @IsOptional()
  @PublicUrl(['http', 'https'])
  CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDKMS?: string;

  @IsOptional()
  @PublicUrl(['http', 'https'])
  VAULT_ADDR?: string;

  @IsOptional()
  @SecretText({ expected: 'a token', pattern: /^[\x21-\x7e]+$/ })
  VAULT_TOKEN?: Secret;

  @IsOptional()
  @Text({ expected: 'a namespace', pattern: /^[\w/.-]+$/ })
  VAULT_NAMESPACE?: string;
}

/** @throws EnvError */
export function readCredentialsEnv(source: NodeJS.ProcessEnv = process.env): CredentialsEnv {
  return loadEnv(CredentialsEnv, source);
}
