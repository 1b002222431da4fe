import { loadEnv, ServicesEnv } from '@libs/platform';

export class VideoWorkerEnv extends ServicesEnv {
  override HEALTH_PORT: number = 8_083;
}

/** @throws EnvError */
export function readVideoWorkerEnv(source: NodeJS.ProcessEnv = process.env): VideoWorkerEnv {
  return loadEnv(VideoWorkerEnv, source);
}
