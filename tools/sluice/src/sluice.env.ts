import { loadEnv, ServicesEnv } from '@libs/platform';

/** @throws EnvError */
export function readSluiceEnv(source: NodeJS.ProcessEnv = process.env): ServicesEnv {
  return loadEnv(ServicesEnv, source);
}
