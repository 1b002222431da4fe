import { loadEnv, ServicesEnv } from '@libs/platform';

export class CredentialsEnv extends ServicesEnv {
  override HEALTH_PORT: number = 8_084;
}

/** @throws EnvError */
export function readCredentialsEnv(source: NodeJS.ProcessEnv = process.env): CredentialsEnv {
  return loadEnv(CredentialsEnv, source);
}
