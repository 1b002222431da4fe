import { loadEnv, ServicesEnv } from '@libs/platform';

export class AuthEnv extends ServicesEnv {
  override HEALTH_PORT: number = 8_085;
}

/** @throws EnvError */
export function readAuthEnv(source: NodeJS.ProcessEnv = process.env): AuthEnv {
  return loadEnv(AuthEnv, source);
}
